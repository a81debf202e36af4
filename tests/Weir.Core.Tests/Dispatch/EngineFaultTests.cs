using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Should the engine itself fail, the run fails with it, wherever that was.</summary>
public class EngineFaultTests
{
    [Theory(Timeout = 90_000)]
    [InlineData(ErrorMode.FailFast)]
    [InlineData(ErrorMode.CollectAndContinue)]
    [InlineData(ErrorMode.BestEffort)]
    public async Task Sink_ThrowsWhenARecoveryGivesTheResult_FailsTheRun(ErrorMode mode)
    {
        ListCompletion<int> completion = new(4);
        Pump pump = new Pump<int, int, PendingResult<int>, SelectorCall<int, int>, FaultySink>(
            SourceOf.Enumerable([0, 1, 2, 3]),
            new SelectorCall<int, int>(static (x, _) => x == 2 ? throw new FormatException() : new ValueTask<int>(x)),
            new FaultySink(new ListSink<int>(completion)),
            new PumpSettings { Limit = 2, ErrorMode = mode },
            new ScriptedRecovery(static _ => Decision<int>.Succeed(-1)));
        pump.Start(1, CancellationToken.None);

        Exception error = await Assert.ThrowsAnyAsync<Exception>(() => completion.Task.WithinAsync());
        Assert.Equal("the sink", (error is ItemsFailedException failed ? Assert.Single(failed.Failures).Error : error).Message);
    }

    private readonly struct FaultySink(ListSink<int> inner) : ISink<int>
    {
        public bool HasSlots => false;

        public bool HasChunks => false;

        public long Ceiling => long.MaxValue;

        public long Undelivered(long ended) => 0;

        public Span<int> Slots(long first, int count) => default;

        public void Succeeded(long index, int result)
        {
            if (index == 2)
            {
                throw new InvalidOperationException("the sink");
            }

            inner.Succeeded(index, result);
        }

        public void Unsuccessful(long index, ItemStatus status, Exception? error) => inner.Unsuccessful(index, status, error);

        public void Complete(RunEnd end) => inner.Complete(end);
    }
}
