using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Properties;

/// <summary>What must hold after every run, whatever the plan was.</summary>
internal static class PlanCheck
{
    public static async Task HoldsAsync(RandomPlan plan)
    {
        using PlanRun run = new(plan);
        await run.RunAsync();
        Nothing(plan, run);
        Ending(plan, run);
        Results(plan, run);
        Hooks(plan, run);
    }

    /// <summary>Nothing runs twice, nothing exceeds the limit, and nothing is left behind.</summary>
    private static void Nothing(RandomPlan plan, PlanRun run)
    {
        Assert.All(run.Calls, static calls => Assert.InRange(calls, 0, 1));
        Assert.InRange(run.Probe.Most, 0, plan.Limit);
        Assert.Equal(0, run.Probe.Inside);
        Assert.Equal(0, run.Clock.LiveTimers);
        run.Source.AssertUsedWell();
    }

    /// <summary>The run ended as its mode and its early end say.</summary>
    private static void Ending(RandomPlan plan, PlanRun run)
    {
        bool outcomes = plan.Family == OperatorFamily.Outcomes;
        bool anyFailed = !run.Failed.IsEmpty;
        switch (run.Error)
        {
            case null:
                Assert.False(run.WasCancelled, "A cancelled run ends as cancelled.");
                Assert.False(plan.Mode != ErrorMode.BestEffort && !outcomes && anyFailed && plan.End is not EarlyEnd.Break, "A failure was lost.");
                Assert.NotEqual(EarlyEnd.SourceThrows, plan.Items.Length == 0 || run.Calls.Sum() == 0 ? EarlyEnd.None : Reached(plan, run));
                break;
            case OperationCanceledException e:
                Assert.True(run.WasCancelled, "Only the caller cancels here.");
                Assert.Equal(run.Token, e.CancellationToken);
                break;
            case ItemsFailedException e:
                Assert.Equal(ErrorMode.CollectAndContinue, plan.Mode);
                Assert.Equal(run.Failed.Order().Select(static i => (long)i), e.Failures.Select(static f => f.Index).Where(static i => i >= 0));
                Assert.All(e.Failures.Where(static f => f.Index >= 0), static f => Assert.Equal($"item {f.Index}", f.Error.Message));
                Assert.Equal(plan.End == EarlyEnd.SourceThrows && e.Failures[^1].Index < 0 ? 1 : 0, e.Failures.Count(static f => f.Index < 0));
                if (e is ItemsFailedException<int> typed)
                {
                    Assert.Equal(run.Succeeded, typed.Results);
                }

                break;
            case TestException e when e.Message == "consumer":
                Assert.Equal(EarlyEnd.ConsumerThrows, plan.End);
                break;
            case TestException e when e.Message == "step":
                Assert.Equal(EarlyEnd.SourceThrows, plan.End);
                break;
            case TestException e:
                Assert.Equal(ErrorMode.FailFast, plan.Mode);
                Assert.Contains(run.Failed, item => e.Message == $"item {item}");
                break;
            default:
                Assert.Fail(run.Error.ToString());
                break;
        }

        static EarlyEnd Reached(RandomPlan plan, PlanRun run) =>
            plan.End == EarlyEnd.SourceThrows && run.Hooked.IsEmpty ? EarlyEnd.SourceThrows : EarlyEnd.None;
    }

    /// <summary>Every result is that of an item that succeeded; all of them, and in order, where that is promised.</summary>
    private static void Results(RandomPlan plan, PlanRun run)
    {
        Assert.Equal(run.Results.Count, run.Results.Distinct().Count());
        Assert.Empty(run.Results.Except(run.Succeeded));
        if (plan.Family.IsOrdered())
        {
            Assert.Equal(run.Results.Order(), run.Results);
        }

        bool ranToItsEnd = run.Error is null or ItemsFailedException && plan.End is not (EarlyEnd.Break or EarlyEnd.ConsumerThrows);
        if (run.Error is null && ranToItsEnd)
        {
            Assert.Equal(run.Succeeded, run.Results.Order());
        }

        if (ranToItsEnd && plan.End == EarlyEnd.None)
        {
            Assert.All(run.Calls, static calls => Assert.Equal(1, calls));
            Assert.Equal(plan.Items.Length, run.Succeeded.Count() + run.Failed.Count);
        }

        if (run.Error is ItemsFailedException && plan.Family.IsStream())
        {
            Assert.Equal(run.Succeeded, run.Results.Order());
        }
    }

    /// <summary>The hooks were told once of everything they should be told of.</summary>
    private static void Hooks(RandomPlan plan, PlanRun run)
    {
        Assert.Equal(run.Hooked.Count, run.Hooked.Distinct().Count());
        Assert.Empty(run.Hooked.Except(run.Failed));
        bool failsFast = plan.Mode == ErrorMode.FailFast && plan.Family != OperatorFamily.Outcomes;
        if (plan.End == EarlyEnd.None)
        {
            Assert.Equal(failsFast ? Math.Min(1, run.Failed.Count) : run.Failed.Count, run.Hooked.Count);
        }

        if (failsFast && run.Error is TestException { Message: not ("step" or "consumer") } error)
        {
            Assert.Equal(error.Message, $"item {Assert.Single(run.Hooked)}");
        }

        if (plan.ItemHooks)
        {
            // Where the run has stopped, no call follows the hook that was under way.
            int[] called = [.. Enumerable.Range(0, plan.Items.Length).Where(i => run.Calls[i] == 1)];
            Assert.Equal(run.Started.Count, run.Started.Distinct().Count());
            Assert.Empty(called.Except(run.Started));
            if (RanToItsEnd(plan, run))
            {
                Assert.Equal(called, run.Started.Order());
            }

            Assert.Equal(run.Succeeded, run.Completed.Order());
        }

        bool[] pauses = [.. run.Pauses];
        for (int i = 0; i < pauses.Length; i++)
        {
            Assert.Equal(i % 2 == 0, pauses[i]);
        }
    }

    /// <summary>Whether nothing stopped the run: each item that began was called.</summary>
    private static bool RanToItsEnd(RandomPlan plan, PlanRun run) => plan.End switch
    {
        EarlyEnd.Break or EarlyEnd.ConsumerThrows => false,
        EarlyEnd.HookStops when !run.Hooked.IsEmpty => false,
        _ => run.Error switch
        {
            null => true,

            // A source that throws stops the run, in every mode.
            ItemsFailedException e => e.Failures[^1].Index >= 0,
            _ => false,
        },
    };
}
