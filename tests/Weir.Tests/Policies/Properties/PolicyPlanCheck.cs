using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies.Properties;

/// <summary>What must hold after every run with policies, whatever the plan was.</summary>
internal static class PolicyPlanCheck
{
    public static async Task HoldsAsync(PolicyPlan plan)
    {
        using PolicyPlanRun run = new(plan);
        await run.RunAsync();
        Attempts(plan, run);
        Ending(plan, run);
        Accounts(plan, run);
        Hooks(plan, run);
        run.Source.AssertUsedWell();

        // A cancelled call may take a moment to let go of its own timer.
        await Guard.UntilAsync(() => run.Clock.ArmedTimers == 0, $"the end of all timers, of which {run.Clock.ArmedTimers} are left, after: {plan}");
        await Guard.UntilAsync(() => run.Probe.Inside == 0, $"the end of all calls after: {plan}");
    }

    /// <summary>No item is tried more often than asked, and no limit is exceeded.</summary>
    private static void Attempts(PolicyPlan plan, PolicyPlanRun run)
    {
        Assert.All(run.Attempts, attempts => Assert.InRange(attempts, 0, 1 + plan.Options.MaxRetries));
        Assert.True(run.Attempts.Sum() <= run.MostAttempts, $"{run.Attempts.Sum()} attempts where the rate allows {run.MostAttempts}.");
        if (!plan.LeavesBehind)
        {
            Assert.InRange(run.Probe.Most, 0, plan.Options.AdaptiveConcurrency?.MaxConcurrency ?? plan.Options.MaxDegreeOfParallelism);
            Assert.All(run.Successes, static successes => Assert.InRange(successes, 0, 1));
            Assert.InRange(run.MostOfAKey, 0, plan.MaxPerKey);
        }
    }

    /// <summary>The run ended as its mode and its early end say.</summary>
    private static void Ending(PolicyPlan plan, PolicyPlanRun run)
    {
        switch (run.Error)
        {
            case null:
                // A call with a time limit can be given up while it cancels, so that the run ends before it hears of it.
                Assert.False(
                    run.WasCancelled && plan.Options is { AttemptTimeout: null, PerItemTimeout: null }, "A cancelled run ends as cancelled.");
                if (plan.Options.ErrorMode != ErrorMode.BestEffort && run.Outcomes is null && plan.End != PolicyEnd.Break)
                {
                    Assert.Empty(run.Hooked);
                }

                break;
            case OperationCanceledException error when !TimeoutFailure.Is(error):
                Assert.True(run.WasCancelled, "Only the caller cancels here.");
                Assert.Equal(run.Token, error.CancellationToken);
                break;
            case ItemsFailedException error:
                Assert.Equal(ErrorMode.CollectAndContinue, plan.Options.ErrorMode);
                if (plan.End == PolicyEnd.None)
                {
                    Assert.Equal(run.Hooked.Select(static h => (long)h.Index).Order(), error.Failures.Select(static f => f.Index));
                }

                if (error is ItemsFailedException<int> typed)
                {
                    Accounted(plan, run, [.. typed.Results]);
                }

                break;
            case TestException { Message: "consumer" }:
                Assert.Equal(PolicyEnd.ConsumerThrows, plan.End);
                break;
            default:
                Assert.Equal(ErrorMode.FailFast, plan.Options.ErrorMode);
                Assert.True(run.Error is TestException or CircuitBreakerOpenException || TimeoutFailure.Is(run.Error), run.Error.ToString());
                Assert.Same(run.Error, Assert.Single(run.Hooked).Error);
                break;
        }
    }

    /// <summary>Every item has exactly one outcome.</summary>
    private static void Accounts(PolicyPlan plan, PolicyPlanRun run)
    {
        if (plan.Family == OperatorFamily.ForEach)
        {
            // What it gives as results is what its action did, also in calls that were left behind.
            return;
        }

        int[] items = [.. run.Results.Select(static r => PolicyPlanRun.ItemOf(r).Item)];
        Assert.Equal(items.Length, items.Distinct().Count());
        if (plan.Family.IsOrdered())
        {
            Assert.Equal(items.Order(), items);
        }

        foreach ((int item, bool fellBack) in run.Results.Select(PolicyPlanRun.ItemOf))
        {
            Assert.True(fellBack ? run.FellBack.Contains(item) : run.Successes[item] > 0, $"Item {item} has a result that nobody gave.");
        }

        Assert.Empty(items.Intersect(run.Hooked.Select(static h => h.Index)));
        if (run.Outcomes is { } outcomes)
        {
            // Items that a stopped run has not read have no outcome.
            Assert.InRange(outcomes.Length, plan.End == PolicyEnd.None || plan.Kind == SourceKind.Array ? plan.Items.Length : 0, plan.Items.Length);
            for (int i = 0; i < outcomes.Length; i++)
            {
                Assert.True(
                    outcomes[i].IsSuccess || plan.End != PolicyEnd.None || run.Hooked.Any(h => h.Index == i), $"Item {i} was lost: {outcomes[i].Status}");
                Assert.True(!outcomes[i].IsSuccess || PolicyPlanRun.ItemOf(outcomes[i].Value).Item == i, $"Item {i} has the result of another.");
            }
        }
        else if (run.Error is null && plan.End == PolicyEnd.None)
        {
            Accounted(plan, run, run.Results);
        }
    }

    /// <summary>Results and reported failures together are all items.</summary>
    private static void Accounted(PolicyPlan plan, PolicyPlanRun run, IReadOnlyList<int> results)
    {
        if (plan.End == PolicyEnd.None)
        {
            Assert.Equal(
                Enumerable.Range(0, plan.Items.Length),
                results.Select(static r => PolicyPlanRun.ItemOf(r).Item).Concat(run.Hooked.Select(static h => h.Index)).Order());
        }
    }

    /// <summary>The hooks were told once of everything they should be told of.</summary>
    private static void Hooks(PolicyPlan plan, PolicyPlanRun run)
    {
        Assert.Distinct(run.Hooked.Select(static h => h.Index));
        Assert.Distinct(run.FellBack);
        Assert.Distinct(run.Started);
        foreach (IGrouping<int, int> retries in run.Retried.GroupBy(static r => r.Index, static r => r.Attempt))
        {
            // In order, from 1, none twice.
            Assert.Equal(Enumerable.Range(1, retries.Count()), retries);
            Assert.InRange(retries.Count(), 1, plan.Options.MaxRetries);
        }

        // The limit of an item counts from before its hook, so it may come first.
        if (plan.ItemHooks && plan.End == PolicyEnd.None && run.Error is null && !plan.LeavesBehind)
        {
            Assert.Equal(Enumerable.Range(0, plan.Items.Length), run.Started.Order());
        }
    }
}
