//! The example does what it says: Helm pulls what it pushed.

use kubepkg_sandbox::DockerRegistry;

use crate::helm::{Helm, tree};

#[expect(dead_code, reason = "`main` is for people")]
#[path = "../../examples/package_and_push.rs"]
mod package_and_push;

#[tokio::test]
async fn the_example_packs_and_pushes_what_helm_pulls() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start().unwrap());
    let folder = helm.chart("web", "apiVersion: v2\nname: web\nversion: 1.2.0+b\n");
    let arguments = [
        folder.to_str().unwrap().to_owned(),
        format!("{}/shelf", registry.url()),
    ];
    let mut said = Vec::new();
    package_and_push::run(&arguments, &mut said).await.unwrap();
    let said = String::from_utf8(said).unwrap();
    let reference = said.strip_suffix('\n').unwrap();
    let tagged = format!("{}/shelf/web:1.2.0_b@sha256:", registry.address());
    assert!(reference.starts_with(&tagged), "{reference}");

    // By the digest that it tells.
    let oci = format!("oci://{reference}");
    helm.run(&["pull", &oci, "--untar", "--plain-http", "-d", "pulled"]);
    assert_eq!(tree(&helm.path("pulled/web")), tree(&folder));

    assert!(
        package_and_push::run(&arguments[..1], &mut Vec::new())
            .await
            .is_err()
    );
}
