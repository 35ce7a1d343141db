//! Charts, out of archives and out of files: what loads, renders within its limits, and twice the same.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderLimits, RenderOptions, Values, render,
    render_templates, split_manifests,
};

use crate::guard::soon;
use crate::parts;

const LIMITS: ChartLimits = ChartLimits {
    max_bytes: 1 << 20,
    max_files: 200,
    max_depth: 4,
};
const RENDER: RenderLimits = RenderLimits {
    steps: 100_000,
    output_bytes: 1 << 20,
    wall_time: None,
    documents: 1_000,
};

/// An archive: as it stands when it is compressed, else the tar of one.
pub(crate) fn check_archive(input: &[u8]) {
    let packed;
    let bytes = if input.starts_with(&[0x1f, 0x8b]) {
        input
    } else {
        packed = pack(input);
        &packed
    };
    let Ok(chart) = soon("unpacking", || Chart::load_archive(bytes, &LIMITS)) else {
        return;
    };
    assert_eq!(
        Chart::load_archive(bytes, &LIMITS).ok().as_ref(),
        Some(&chart)
    );
    laws(&chart, &Values::default());
}

/// Compresses without compressing, so that a mutated tar is packed as fast as it is made.
fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::none());
    packer.write_all(bytes).expect("memory takes all");
    packer.finish().expect("memory takes all")
}

/// Parts: the user's values, then files with their names.
pub(crate) fn check_files(input: &[u8]) {
    let (user, rest) = parts::first(input);
    let Ok(user) = Values::from_yaml_documents(user) else {
        return;
    };
    let files = parts::split(rest).filter_map(parts::file);
    let loaded = soon("loading", || Chart::from_files(files, &LIMITS));
    match loaded {
        Ok(chart) => laws(&chart, &user),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn laws(chart: &Chart, user: &Values) {
    let record = serde_json::to_value(chart).expect("a chart has a JSON form");
    let again: Chart = serde_json::from_value(record.clone()).expect("and is read back from it");
    assert_eq!(
        serde_json::to_value(&again).ok(),
        Some(record),
        "a chart's record"
    );

    let release = ReleaseFacts::install("rel", "ns1");
    let capabilities = Capabilities::default();
    let options = RenderOptions {
        seed: Some([7; 32]),
        now: Some((1_700_000_000, 0)),
        limits: Some(&RENDER),
        ..RenderOptions::default()
    };
    let once = || {
        soon("rendering", || {
            render(chart, user, &release, &capabilities, &options)
        })
    };
    match (once(), once()) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first, second, "one seed, two renderings");
            // The name of a file stands in the manifest as it is, line feeds and all.
            let plain = |path: &String| !path.contains('\n');
            if first
                .objects
                .iter()
                .all(|object| plain(&object.place.template))
            {
                let documents = split_manifests(&first.manifest).len();
                assert_eq!(documents, first.objects.len(), "{}", first.manifest);
            }
            let files = render_templates(chart, user, &release, &capabilities, &options)
                .expect("templates that were just rendered");
            for object in &first.objects {
                let output = files
                    .get(&object.place.template)
                    .expect("an object's template");
                let lines = output.text().lines().count();
                assert!(object.rendered_line >= 1 && object.rendered_line <= lines);
                assert_eq!(object.place.chart, output.chart);
            }
        }
        (Err(first), Err(second)) => {
            assert_eq!(
                first.to_string(),
                second.to_string(),
                "one seed, two refusals"
            );
        }
        (Ok(_), Err(error)) | (Err(error), Ok(_)) => panic!("refused once in two times: {error}"),
    }
}
