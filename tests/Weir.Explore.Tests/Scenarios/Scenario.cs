using System.Globalization;
using System.Runtime.CompilerServices;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>
/// Searches a scenario: all schedules with up to two preemptions, and at most 10,000; if these were not all, it goes on with PCT, for as many schedules as
/// WEIR_EXPLORE_SCHEDULES says. Without it, each of the two has 50 at most, and 1,000 where a known fault needs more. A scenario of many kinds may have fewer.
/// </summary>
internal static class Scenario
{
    private const int Bounded = 10_000;
    private const int Few = 50;
    private const int Many = 1_000;

    // Those in which a fault of docs/reference/testing.md, or a defect of ours, is found only after more than a few.
    private static readonly HashSet<string> NeedMany =
    [
        nameof(RunScenarios.Ends_OfCallsThatWaitTogether_CountOnce),
        nameof(BlockScenarios.Completion_AsABlockTakesAPostponedMessage_WaitsForIt),
        nameof(BlockScenarios.Joins_ThatCompete_TakeEachMessageOnce),
        nameof(BlockScenarios.Link_MadeWhileMessagesCome_KeepsTheirOrder),
        nameof(BlockScenarios.Room_InABoundedBlock_IsGivenToWhoWaits),
        nameof(BlockScenarios.WakeUp_OfAnIdleBlock_IsNotLost),
        nameof(BarrierScenarios.Room_FreedByAWorker_IsSeenByWhoWaits),
        nameof(BarrierScenarios.WakeUp_OfAWorkerThatGoesIdle_IsNotLost),
        nameof(DeliveryScenarios.Batch_ReadAsACallEnds_IsLookedAtInOrder),
        nameof(DeliveryScenarios.Fault_OfACallThatWorksAgain_IsNotTheLastOneAnyMore),
        nameof(RunScenarios.Place_OfAReader_IsNotUsedTwice),
        nameof(RunScenarios.Stop_OfARunWithItemsClaimed_BeginsNoOther),
        nameof(RunScenarios.Turn_GivenUpAsAWorkerLeavesForIt_IsTakenByThatWorker),
        nameof(RunScenarios.Turn_OfASequence_IsTakenByOneWorkerAtATime),
        nameof(ThreadScenarios.Host_ReplacedAsItComesBack_LosesNoWork),
        nameof(TimeScenarios.BatchTimeout_AtAnyTime_GivesEachItemOneOutcome),
    ];

    // What src says is read or written without an order, and why that is enough.
    private static readonly string[] Meant =
    [
        "RunStop._ofCall", "RunStop._ofEnumerator", "PumpWorker._isExecuting", "ExecCore._context", "Work.PoolContext", "PermitWaiter.State",
        "PumpWorker._succeeded", "PumpWorker._unsuccessful", "PumpWorker.Waiting", "PumpWorker.Reads", "PumpWorker._retries", "PumpWorker.At",
    ];

    public static void Explored(
        this ITestOutputHelper output,
        Func<Task> body,
        ExploreOptions? options = null,
        long most = long.MaxValue,
        [CallerMemberName] string scenario = "")
    {
        long schedules = Environment.GetEnvironmentVariable("WEIR_EXPLORE_SCHEDULES") is { } number
            ? long.Parse(number, CultureInfo.InvariantCulture)
            : NeedMany.Contains(scenario) ? Many : Few;
        schedules = Math.Min(schedules, most);
        options ??= new ExploreOptions();
        options = options with
        {
            MaxSchedules = Math.Min(schedules, Bounded),
            DataRaces = options.DataRaces || Environment.GetEnvironmentVariable("WEIR_EXPLORE_RACES") == "1",
            Reduction = Environment.GetEnvironmentVariable("WEIR_EXPLORE_REDUCTION") == "1",
            MeantRaces = Meant,
        };
        ExploreResult result = Explore.Run(body, options);
        output.WriteLine($"bounded, {result}");
        if (!result.IsExhausted)
        {
            output.WriteLine($"PCT, {Explore.Run(body, options with { MaxSchedules = schedules, Strategy = ExploreStrategy.Pct })}");
        }
    }
}
