//! Templates: parsing and executing ends within its budget, and twice the same seed gives twice the same.

use std::sync::LazyLock;

use kubepkg_gotemplate::message::{helm_exec_error, helm_parse_error};
use kubepkg_gotemplate::{
    Budget, FuncTable, MissingKey, SeededEnv, TemplateSet, Value, helm_funcs, sprig,
};

use crate::guard::soon;
use crate::parts;

/// Small enough that an input which uses all of it takes milliseconds.
const BUDGET: Budget = Budget {
    steps: 200_000,
    template_depth: 10_000,
    include_depth: 1_000,
    total_depth: 20_000,
    output_bytes: 1 << 20,
    // Steps alone decide, so that a busy machine changes nothing.
    wall_time: None,
};

/// The functions that Helm offers.
pub(crate) static FUNCTIONS: LazyLock<FuncTable> = LazyLock::new(|| {
    let mut functions = FuncTable::default();
    functions.extend(sprig::functions());
    functions.extend(helm_funcs::functions(false));
    functions
});

/// Parts: the template that is executed, more templates, and YAML for its dot last.
pub(crate) fn check(input: &[u8]) {
    let mut texts: Vec<&[u8]> = parts::split(input).collect();
    let data = if texts.len() > 1 {
        texts.pop().unwrap_or_default()
    } else {
        b""
    };
    let Ok(data) = kubepkg_yaml::load(data.get(..data.len().min(4096)).unwrap_or_default()) else {
        return;
    };
    run(&texts, &data);
}

/// Executes the first of the texts.
pub(crate) fn run(texts: &[&[u8]], data: &serde_json::Value) {
    let mut set = TemplateSet::new("gotpl", FUNCTIONS.clone()).with_missing_key(MissingKey::Zero);
    // The last is parsed first, as in a chart.
    for (index, text) in texts.iter().enumerate().rev() {
        let parsed = soon("parsing", || set.parse(&format!("t{index}"), *text));
        if let Err(error) = parsed {
            let lines = text.split(|byte| *byte == b'\n').count();
            assert!(error.line >= 1 && error.line <= lines, "{error}");
            let _ = helm_parse_error(&error);
            return;
        }
    }
    let first = execute(&set, data);
    assert_eq!(first, execute(&set, data), "one seed, two outcomes");
    if let ([text], Ok(output)) = (texts, &first)
        && !text.windows(2).any(|pair| pair == b"{{")
    {
        assert_eq!(output, text, "text stays as it is");
    }
}

fn execute(set: &TemplateSet, data: &serde_json::Value) -> Result<Vec<u8>, String> {
    let mut env = SeededEnv::new([7], (1_700_000_000, 0));
    let values = Value::from(data);
    let dot = Value::map([
        ("Values", values.clone()),
        ("Release", Value::map([("Name", Value::string("rel"))])),
    ]);
    let outcome = soon("executing", || {
        set.session(&mut env, BUDGET).execute("t0", &dot)
    });
    // A template may have tied the maps into a ring.
    if let Some(map) = values.as_map() {
        map.clear();
    }
    let output = outcome.map_err(|error| helm_exec_error(&error, "t0"))?;
    assert!(output.len() <= BUDGET.output_bytes);
    Ok(output)
}
