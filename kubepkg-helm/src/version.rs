//! Versions as Helm reads them: loosely (`1`, `v1.2`, `01.2.3` are versions), and checked against constraints.

