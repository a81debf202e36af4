using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>A run of the engine over the numbers from 0 on, whose outcomes are kept, as the operators make it.</summary>
internal static class OutcomeRun
{
    public static (Pump Pump, Task<ItemOutcome<int, int>[]> Task) Make(
        int count, Func<int, CancellationToken, ValueTask<int>> selector, PumpSettings settings, IRecovery<int>? recovery = null)
    {
        OutcomeCompletion<int, int> completion = new(count);
        Pump pump = new Pump<int, int, PendingResult<int>, SelectorCall<int, int>, OutcomeSink<int, int>>(
            SourceOf.Enumerable(Enumerable.Range(0, count).ToArray()),
            new SelectorCall<int, int>(selector),
            new OutcomeSink<int, int>(completion),
            settings,
            recovery);
        return (pump, completion.Task);
    }
}
