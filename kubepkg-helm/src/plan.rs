//! The steps of an operation, as a pure function of what is to be done. The list depends on nothing but its
//! input, and all input stands in the release record, so that another process finds the same list and goes
//! on at the step that was reached. Every step may be done twice with the same result.
//! Source of the order: Helm 4.3.1 `pkg/action/{install,upgrade,rollback,uninstall,hooks}.go`.

use crate::{DeletePolicy, Hook, HookEvent};
use serde::{Deserialize, Serialize};

/// What an operation does to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// The first revision.
    Install,
    /// A new revision of an existing release.
    Upgrade,
    /// A new revision that repeats an older one.
    Rollback,
    /// Removal.
    Uninstall,
    /// A run of the release's tests; nothing else changes.
    Test,
}

impl OperationKind {
    /// The word for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            OperationKind::Install => "install",
            OperationKind::Upgrade => "upgrade",
            OperationKind::Rollback => "rollback",
            OperationKind::Uninstall => "uninstall",
            OperationKind::Test => "test",
        }
    }

    fn hooks(self) -> (HookEvent, HookEvent) {
        match self {
            OperationKind::Install => (HookEvent::PreInstall, HookEvent::PostInstall),
            OperationKind::Upgrade => (HookEvent::PreUpgrade, HookEvent::PostUpgrade),
            OperationKind::Rollback => (HookEvent::PreRollback, HookEvent::PostRollback),
            OperationKind::Uninstall => (HookEvent::PreDelete, HookEvent::PostDelete),
            OperationKind::Test => (HookEvent::Test, HookEvent::Test),
        }
    }
}

/// One step of an operation. Numbers are positions in the release's hooks or objects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Make the namespace when it does not exist.
    Namespace,
    /// Apply the chart's `crds/`.
    Crds,
    /// Wait until the server serves their kinds.
    AwaitCrds,
    /// Write the record: from here on the operation can be resumed.
    Record,
    /// Write the record in its final state at once: the objects are as they shall be.
    RecordOnly,
    /// Delete what is left of a hook's last run.
    DeleteOldHook(usize),
    /// Wait until that is gone.
    AwaitOldHookGone(usize),
    /// Write into the record that the hook runs now, then create it.
    RunHook(usize),
    /// Wait until the hook has ended.
    AwaitHook(usize),
    /// Write into the record that the hooks of an event are done.
    HooksDone(HookEvent),
    /// Delete a hook that succeeded and asks for it.
    DeleteDoneHook(usize),
    /// Apply objects from one position up to another; they are of one kind.
    Apply(usize, usize),
    /// Delete what the previous revision had and this one has not.
    Prune,
    /// Wait until the objects are ready.
    AwaitReady,
    /// Delete objects from one position up to another in the order of removal.
    Delete(usize, usize),
    /// Wait until the deleted objects are gone.
    AwaitGone,
    /// Replace the older deployed records.
    Supersede,
    /// Write the record in its final state.
    Finish,
    /// Remove all records of the release.
    Purge,
}

/// What the planner looks at.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct PlanInput<'a> {
    pub(crate) kind: OperationKind,
    pub(crate) hooks: &'a [Hook],
    /// Kinds of the objects in the order in which they are applied or deleted.
    pub(crate) object_kinds: &'a [&'a str],
    pub(crate) create_namespace: bool,
    pub(crate) crds: bool,
    pub(crate) run_hooks: bool,
    pub(crate) wait: bool,
    pub(crate) prune: bool,
    pub(crate) keep_history: bool,
    /// An install replaces an older revision.
    pub(crate) replace: bool,
    /// An upgrade or rollback finds every object as it shall be, and ready, and has none to remove.
    pub(crate) settled: bool,
    /// Tests to be run (all when empty), and tests not to be run.
    pub(crate) tests: (&'a [String], &'a [String]),
}

/// The steps of an operation.
pub(crate) fn plan(input: &PlanInput<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    let (before, after) = input.kind.hooks();
    let hooks = |event| input.run_hooks && !hooks_of(input.hooks, event).is_empty();
    if input.settled && !input.crds && !hooks(&before) && !hooks(&after) {
        return vec![Step::RecordOnly, Step::Supersede];
    }
    if input.kind == OperationKind::Test {
        return test_steps(input);
    }
    if input.create_namespace {
        steps.push(Step::Namespace);
    }
    if input.crds {
        steps.extend([Step::Crds, Step::AwaitCrds]);
    }
    steps.push(Step::Record);
    if input.run_hooks {
        hook_steps(input.hooks, before, |_| true, &mut steps);
    }
    if input.kind == OperationKind::Uninstall {
        steps.extend(runs(input.object_kinds).map(|(from, to)| Step::Delete(from, to)));
        if input.wait && !input.object_kinds.is_empty() {
            steps.push(Step::AwaitGone);
        }
    } else {
        steps.extend(runs(input.object_kinds).map(|(from, to)| Step::Apply(from, to)));
        if input.prune {
            steps.push(Step::Prune);
        }
        if input.wait && !input.object_kinds.is_empty() {
            steps.push(Step::AwaitReady);
        }
    }
    if input.run_hooks {
        hook_steps(input.hooks, after, |_| true, &mut steps);
    }
    match (input.kind, input.keep_history) {
        (OperationKind::Install, _) if input.replace => {
            steps.extend([Step::Supersede, Step::Finish]);
        }
        (OperationKind::Install | OperationKind::Test, _) => steps.push(Step::Finish),
        (OperationKind::Uninstall, false) => steps.push(Step::Purge),
        (OperationKind::Uninstall, true) => steps.extend([Step::Finish, Step::Supersede]),
        (OperationKind::Upgrade | OperationKind::Rollback, _) => {
            steps.extend([Step::Supersede, Step::Finish]);
        }
    }
    steps
}

fn test_steps(input: &PlanInput<'_>) -> Vec<Step> {
    let (only, except) = input.tests;
    let chosen = |hook: &Hook| {
        (only.is_empty() || only.contains(&hook.name)) && !except.contains(&hook.name)
    };
    let mut steps = vec![Step::Record];
    hook_steps(input.hooks, HookEvent::Test, chosen, &mut steps);
    steps.push(Step::Finish);
    steps
}

/// The hooks of an event, by weight, then name; equal ones stay in their order.
pub(crate) fn hooks_of(hooks: &[Hook], event: &HookEvent) -> Vec<usize> {
    let mut chosen: Vec<(usize, &Hook)> = hooks
        .iter()
        .enumerate()
        .filter(|(_, hook)| hook.events.contains(event))
        .collect();
    chosen.sort_by(|(_, a), (_, b)| (a.weight, &a.name).cmp(&(b.weight, &b.name)));
    chosen.into_iter().map(|(index, _)| index).collect()
}

/// True when a hook asks for deletion at a moment. CRDs are never deleted, because that would delete all
/// their objects; a hook that says nothing is deleted before it is created again.
pub(crate) fn deletes(hook: &Hook, policy: &DeletePolicy) -> bool {
    if hook.kind == "CustomResourceDefinition" {
        return false;
    }
    if hook.delete_policies.is_empty() {
        return *policy == DeletePolicy::BeforeHookCreation;
    }
    hook.delete_policies.contains(policy)
}

fn hook_steps(
    hooks: &[Hook],
    event: HookEvent,
    wanted: impl Fn(&Hook) -> bool,
    steps: &mut Vec<Step>,
) {
    let mut chosen = hooks_of(hooks, &event);
    chosen.retain(|index| hooks.get(*index).is_some_and(&wanted));
    let policy =
        |index: &usize, policy| hooks.get(*index).is_some_and(|hook| deletes(hook, &policy));
    for index in &chosen {
        if policy(index, DeletePolicy::BeforeHookCreation) {
            steps.extend([Step::DeleteOldHook(*index), Step::AwaitOldHookGone(*index)]);
        }
        steps.extend([Step::RunHook(*index), Step::AwaitHook(*index)]);
    }
    if !chosen.is_empty() {
        steps.push(Step::HooksDone(event));
    }
    // Deleted after all of the event have succeeded, the last first.
    for index in chosen.iter().rev() {
        if policy(index, DeletePolicy::HookSucceeded) {
            steps.push(Step::DeleteDoneHook(*index));
        }
    }
}

/// Runs of equal kinds.
fn runs<'a>(kinds: &'a [&'a str]) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let kind = kinds.get(from)?;
        let length = kinds
            .iter()
            .skip(from)
            .take_while(|other| *other == kind)
            .count();
        let run = (from, from + length);
        from += length;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::{OperationKind, PlanInput, Step, plan};
    use crate::{DeletePolicy, Hook, HookEvent, KindOrder};

    fn hook(name: &str, event: HookEvent, weight: i64, policies: Vec<DeletePolicy>) -> Hook {
        Hook {
            name: name.to_owned(),
            kind: "Job".to_owned(),
            events: vec![event],
            weight,
            delete_policies: policies,
            ..Hook::default()
        }
    }

    fn input<'a>(kind: OperationKind, hooks: &'a [Hook], kinds: &'a [&'a str]) -> PlanInput<'a> {
        PlanInput {
            kind,
            hooks,
            object_kinds: kinds,
            create_namespace: false,
            crds: false,
            run_hooks: true,
            wait: true,
            prune: kind == OperationKind::Upgrade,
            keep_history: false,
            replace: false,
            settled: false,
            tests: (&[], &[]),
        }
    }

    #[test]
    fn runs_the_tests_that_are_asked_for() {
        let tests = ["a", "b", "c"].map(|name| hook(name, HookEvent::Test, 0, Vec::new()));
        let (only, except) = (["a".to_owned(), "b".to_owned()], ["b".to_owned()]);
        let steps = plan(&PlanInput {
            tests: (&only, &except),
            ..input(OperationKind::Test, &tests, &["Secret"])
        });
        let run: Vec<&Step> = steps
            .iter()
            .filter(|step| matches!(step, Step::RunHook(_)))
            .collect();
        assert_eq!(run, [&Step::RunHook(0)]);
        assert!(!steps.iter().any(|step| matches!(step, Step::Apply(..))));
        assert_eq!(
            (steps.first(), steps.last()),
            (Some(&Step::Record), Some(&Step::Finish))
        );
    }

    #[test]
    fn writes_only_records_when_the_objects_are_as_they_shall_be() {
        let late = [hook("a", HookEvent::PostUpgrade, 0, Vec::new())];
        let settled = |hooks| PlanInput {
            settled: true,
            ..input(OperationKind::Upgrade, hooks, &["Secret"])
        };
        assert_eq!(plan(&settled(&[])), [Step::RecordOnly, Step::Supersede]);
        // A hook runs all the same.
        assert!(plan(&settled(&late)).contains(&Step::RunHook(0)));
    }

    #[test]
    fn installs_namespace_crds_record_hooks_objects() {
        let hooks = [
            hook(
                "late",
                HookEvent::PreInstall,
                5,
                vec![DeletePolicy::HookSucceeded],
            ),
            hook("early", HookEvent::PreInstall, -5, Vec::new()),
            hook("other", HookEvent::PostUpgrade, 0, Vec::new()),
        ];
        let steps = plan(&PlanInput {
            create_namespace: true,
            crds: true,
            ..input(
                OperationKind::Install,
                &hooks,
                &["Secret", "Secret", "Service"],
            )
        });
        assert_eq!(
            steps,
            [
                Step::Namespace,
                Step::Crds,
                Step::AwaitCrds,
                Step::Record,
                Step::DeleteOldHook(1),
                Step::AwaitOldHookGone(1),
                Step::RunHook(1),
                Step::AwaitHook(1),
                Step::RunHook(0),
                Step::AwaitHook(0),
                Step::HooksDone(HookEvent::PreInstall),
                Step::DeleteDoneHook(0),
                Step::Apply(0, 2),
                Step::Apply(2, 3),
                Step::AwaitReady,
                Step::Finish,
            ]
        );
    }

    #[test]
    fn upgrades_prune_and_supersede_before_they_finish() {
        let steps = plan(&input(OperationKind::Upgrade, &[], &["Secret"]));
        assert_eq!(
            steps,
            [
                Step::Record,
                Step::Apply(0, 1),
                Step::Prune,
                Step::AwaitReady,
                Step::Supersede,
                Step::Finish
            ]
        );
    }

    #[test]
    fn uninstalls_purge_records_last() {
        let hooks = [hook(
            "a",
            HookEvent::PostDelete,
            0,
            vec![DeletePolicy::HookFailed],
        )];
        let steps = plan(&input(
            OperationKind::Uninstall,
            &hooks,
            &["Service", "Secret"],
        ));
        assert_eq!(
            steps,
            [
                Step::Record,
                Step::Delete(0, 1),
                Step::Delete(1, 2),
                Step::AwaitGone,
                Step::RunHook(0),
                Step::AwaitHook(0),
                Step::HooksDone(HookEvent::PostDelete),
                Step::Purge,
            ]
        );
    }

    #[test]
    fn removes_services_before_pods_and_unknown_kinds_last() {
        assert!(KindOrder::Uninstall.rank("Service") < KindOrder::Uninstall.rank("Deployment"));
        assert!(KindOrder::Uninstall.rank("PriorityClass") < KindOrder::Uninstall.rank("Aardvark"));
        assert!(KindOrder::Uninstall.rank("Aardvark") < KindOrder::Uninstall.rank("Zebra"));
    }
}
