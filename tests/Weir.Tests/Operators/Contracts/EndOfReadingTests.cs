using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Whoever reads several items before one of them runs (a batch, a lane) looks at the end of the run after each: the sequence may be endless.</summary>
public class EndOfReadingTests
{
    private const int CancelledAt = 5_000;
    private const int WaitInARuntime = 1_024;

    public static TheoryData<string> Readers =>
    [
        "lane", "lane of an asynchronous sequence", "batch", "batch of an asynchronous sequence", "batch with a time limit", "lane of batches",
        "stream of batches",
    ];

    public static MatrixTheoryData<string, bool> RuntimesAndEnds { get; } = new(Runtimes.RuntimeCases.All, [false, true]);

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Readers))]
    public async Task Cancellation_WhileAnEndlessSequenceIsRead_EndsTheReading(string reader)
    {
        using CancellationTokenSource stop = new();
        int read = 0;
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, Output = new() { ChannelCapacity = int.MaxValue } };
        Task running = reader switch
        {
            "lane" => Endless().PartitionBy(static _ => 0).ForEachParallelAsync(UntilCancelledAsync, options, stop.Token),
            "lane of an asynchronous sequence" =>
                Endless().ToAsyncEnumerable().PartitionBy(static _ => 0).ForEachParallelAsync(UntilCancelledAsync, options, stop.Token),
            "batch" => Endless().ForEachBatchParallelAsync(int.MaxValue, NeverAsync, options, cancellationToken: stop.Token),
            "batch of an asynchronous sequence" =>
                Endless().ToAsyncEnumerable().ForEachBatchParallelAsync(int.MaxValue, NeverAsync, options, cancellationToken: stop.Token),
            "batch with a time limit" => Endless().ToAsyncEnumerable().ForEachBatchParallelAsync(
                int.MaxValue, NeverAsync, options, TimeSpan.FromDays(1), stop.Token),
            "lane of batches" => Endless().PartitionBatchesBy(static _ => 0).ForEachBatchParallelAsync(
                2, static (_, token) => UntilCancelledAsync(0, token), options, cancellationToken: stop.Token),
            _ => Endless().BatchParallelStreamAsync(int.MaxValue, static (batch, _) => new ValueTask<int>(batch.Count), options, cancellationToken: stop.Token)
                .ToListAsync(CancellationToken.None).AsTask(),
        };
        OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => running.WithinAsync("the run"));
        Assert.Equal(stop.Token, thrown.CancellationToken);
        Assert.Equal(CancelledAt, read);

        IEnumerable<int> Endless()
        {
            while (true)
            {
                // The run is over when this returns.
                if (++read == CancelledAt)
                {
                    stop.Cancel();
                }

                // Better than a machine without memory.
                Assert.True(read < 1_000_000, "It reads on.");
                yield return read;
            }
        }

        static async ValueTask UntilCancelledAsync(int item, CancellationToken token) =>
            await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);

        static ValueTask NeverAsync(IReadOnlyList<int> batch, CancellationToken token) => throw new TestException("A batch that is not full began.");
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimesAndEnds))]
    public async Task EndlessSequenceWithKeys_OnARuntime_IsReadAsFarAsItemsMayWaitAndEnds(string name, bool byTime)
    {
        ManualTimeProvider clock = new();
        using CancellationTokenSource stop = new();
        await using IExecutionRuntime runtime = Runtimes.RuntimeCases.Create(name, clock);
        TaskCompletionSource full = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource begun = new(TaskCreationOptions.RunContinuationsAsynchronously);

        // One runs, and the others wait for it; with a limit of one, nobody is left to read.
        int expected = Runtimes.RuntimeCases.LimitOf(name) == 1 ? 1 : 1 + WaitInARuntime;
        int read = 0;
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(
            Endless().PartitionBy(static _ => 0),
            async (item, token) =>
            {
                begun.TrySetResult();
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                return item;
            },
            new ProcessManyOptions { TotalTimeout = TimeSpan.FromMinutes(1) },
            stop.Token);
        await full.Task.WithinAsync("as many items as may wait");
        await begun.Task.WithinAsync("the first call");
        if (byTime)
        {
            clock.Advance(TimeSpan.FromMinutes(1));
            ItemOutcome<int, int>[] outcomes = await call.WithinAsync("the call");
            Assert.Equal(ItemStatus.TimedOut, outcomes[0].Status);
            Assert.All(outcomes.Skip(1), static o => Assert.Equal(ItemStatus.NotRun, o.Status));
        }
        else
        {
            await stop.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync("the call"));
        }

        Assert.Equal(expected, read);

        IEnumerable<int> Endless()
        {
            while (true)
            {
                if (++read == expected)
                {
                    full.SetResult();
                }

                Assert.True(read < 1_000_000, "It reads on.");
                yield return read;
            }
        }
    }
}
