//! Objects as Helm prints them. Expected: Helm 4.3.1 on the same templates.

use kubepkg_gotemplate::{FuncTable, SeededEnv, TemplateSet};
use serde_json::json;

fn render(template: &str) -> String {
    let mut set = TemplateSet::new("gotpl", FuncTable::default());
    set.parse("t", template).unwrap();
    let top = crate::double::top(&json!({}));
    let output = set.execute("t", &top, &mut SeededEnv::default()).unwrap();
    String::from_utf8(output).unwrap()
}

#[test]
fn a_pointer_prints_what_it_points_to_but_a_function_sees_the_pointer() {
    assert!(render("{{ .Capabilities }}").starts_with("{{v1.37.0 v1.37.0 1 37} [v1 adm"));
    assert!(render("{{ html .Capabilities }}").starts_with("{{v1.37.0 v1.37.0 1 37} [v1 adm"));
    assert!(
        render("{{ printf \"%v\" .Capabilities }}").starts_with("&{{v1.37.0 v1.37.0 1 37} [v1")
    );
}

#[test]
fn a_string_method_of_the_pointer_is_for_printing_alone() {
    assert_eq!(render("{{ .Capabilities.KubeVersion }}"), "v1.37.0");
    assert_eq!(
        render("{{ $v := .Capabilities.KubeVersion }}{{ $v }}"),
        "v1.37.0"
    );
    assert_eq!(
        render("{{ print .Capabilities.KubeVersion }}"),
        "{v1.37.0 v1.37.0 1 37}"
    );
}

#[test]
fn one_pointer_equals_itself() {
    assert_eq!(render("{{ eq .Capabilities .Capabilities }}"), "true");
}
