using System.Threading.Channels;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Observability;

public class ProgressTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly Channel<ProgressSnapshot> _reports = Channel.CreateUnbounded<ProgressSnapshot>();

    private ParallelRunOptions Options => new()
    {
        MaxDegreeOfParallelism = 2,
        TimeProvider = _time,
        Progress = new ProgressOptions { ReportInterval = 5 * Second, OnProgressAsync = r => _reports.Writer.WriteAsync(r) },
    };

    [Fact(Timeout = 90_000)]
    public async Task Reports_WhileItemsRun_TellWhatIsTrueAtThatMoment()
    {
        using Gate first = new();
        using Gate second = new();
        TaskCompletionSource bothWait = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int waiting = 0;
        Task<List<int>> run = Enumerable.Range(0, 8).SelectParallelAsync(
            async (x, token) =>
            {
                if (x >= 2 && Interlocked.Increment(ref waiting) == 2)
                {
                    bothWait.SetResult();
                }

                await (x < 2 ? first : second).WaitAsync(token);
                return x;
            },
            Options);
        _time.Advance(5 * Second);
        ProgressSnapshot none = await NextAsync();
        Assert.Equal((0, 0, 8), (none.Succeeded, none.Failed, none.TotalItems!.Value));
        Assert.Equal((5 * Second, false, 0.0), (none.Elapsed, none.IsFinal, none.PercentComplete!.Value));
        Assert.Equal(0, none.ItemsPerSecond);
        Assert.Null(none.EstimatedTimeRemaining);

        first.Open();
        await bothWait.Task;
        ProgressSnapshot some = await _reports.Reader.NextTickAsync(_time, 5 * Second);
        Assert.Equal((4, 2, 0), (some.Started, some.Succeeded, some.Failed));
        Assert.Equal(25, some.PercentComplete);
        Assert.True(some.Elapsed >= 10 * Second);
        Assert.Equal(2 / some.Elapsed.TotalSeconds, some.ItemsPerSecond);
        Assert.Equal(3 * some.Elapsed, some.EstimatedTimeRemaining);

        second.Open();
        await run;
        ProgressSnapshot last;
        do
        {
            last = await NextAsync();
        }
        while (!last.IsFinal);
        Assert.Equal((8, 8, 0), (last.Started, last.Succeeded, last.Failed));
        Assert.Equal((100, TimeSpan.Zero), (last.PercentComplete!.Value, last.EstimatedTimeRemaining!.Value));
        Assert.False(_reports.Reader.TryPeek(out _));
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 90_000)]
    public async Task Reports_IntervalBelowAMillisecond_AreMadeAgainAndAgain()
    {
        using Gate gate = new();
        int reports = 0;
        ValueTask OnProgress(ProgressSnapshot report)
        {
            if (Interlocked.Increment(ref reports) == 3)
            {
                gate.Open();
            }

            return default;
        }

        await new[] { 1 }.ForEachParallelAsync(
            (_, token) => new ValueTask(gate.WaitAsync(token)),
            new() { Progress = new ProgressOptions { ReportInterval = TimeSpan.FromTicks(1), OnProgressAsync = OnProgress } });
        Assert.True(reports >= 3);
    }

    [Theory]
    [InlineData(20_000_000, 1, 1)]
    [InlineData(int.MaxValue, 1, 400)]
    [InlineData(int.MaxValue, 1_000_000, 10_000_000)]
    public void EstimatedTimeRemaining_LongerThanAnyTime_IsTheLongest(int total, int ended, int days)
    {
        ProgressSnapshot paused = new()
        {
            Started = ended, Succeeded = ended, Failed = 0, TotalItems = total, Elapsed = TimeSpan.FromDays(days), IsFinal = false,
        };
        Assert.Equal(TimeSpan.MaxValue, paused.EstimatedTimeRemaining);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(OperatorFamily.List, SourceKind.Array, false)]
    [InlineData(OperatorFamily.List, SourceKind.Lazy, false)]
    [InlineData(OperatorFamily.Outcomes, SourceKind.Array, false)]
    [InlineData(OperatorFamily.ForEach, SourceKind.Array, false)]
    [InlineData(OperatorFamily.Stream, SourceKind.AsyncImmediate, false)]
    [InlineData(OperatorFamily.BatchList, SourceKind.Array, false)]
    [InlineData(OperatorFamily.List, SourceKind.Array, true)]
    public async Task FinalReport_OfEveryOperator_HasBeenMadeWhenTheOperatorReturns(OperatorFamily family, SourceKind kind, bool keyed)
    {
        TestSource source = TestSource.Of(kind, 100);
        List<int> results = await (keyed
            ? family.RunKeyedAsync(source, Selectors.Twice, static x => x % 7, Options)
            : family.RunAsync(source, Selectors.Twice, Options));
        Assert.Equal(100, results.Count);
        Assert.True(_reports.Reader.TryRead(out ProgressSnapshot? last));
        Assert.Equal((100, true), (last.Succeeded, last.IsFinal));
        Assert.Equal(kind.KnowsCount() ? 100 : null, last.TotalItems);
        Assert.Equal(kind.KnowsCount() ? 100.0 : null, last.PercentComplete);
        Assert.False(_reports.Reader.TryRead(out _));
    }

    [Fact(Timeout = 90_000)]
    public async Task FinalReport_HoweverTheRunEnds_IsMade()
    {
        await Assert.ThrowsAsync<FormatException>(() => new[] { 1 }.SelectParallelAsync<int, int>(static (_, _) => throw new FormatException(), Options));
        Assert.Equal((0, 1, 100.0), Tuple(await NextAsync()));

        using CancellationTokenSource cancel = new();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => new[] { 1, 2, 3, 4 }.SelectParallelAsync<int, int>(
            async (_, token) =>
            {
                await cancel.CancelAsync();
                token.ThrowIfCancellationRequested();
                return 1;
            },
            Options,
            cancel.Token));
        Assert.True((await NextAsync()).IsFinal);

        await Array.Empty<int>().SelectParallelAsync(static (x, _) => new ValueTask<int>(x), Options);
        Assert.Equal((0, 0, 100.0), Tuple(await NextAsync()));

        await Array.Empty<int>().ForEachParallelAsync(static (_, _) => default, Options);
        Assert.Equal((0, 0, 100.0), Tuple(await NextAsync()));

        await foreach (int x in Enumerable.Range(0, 1000).SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x), Options))
        {
            break;
        }

        Assert.True((await NextAsync()).IsFinal);
        Assert.False(_reports.Reader.TryPeek(out _));

        static (long Completed, long Errors, double? Percent) Tuple(ProgressSnapshot s) => (s.Succeeded, s.Failed, s.PercentComplete);
    }

    [Fact(Timeout = 90_000)]
    public async Task Callback_ThatNeverReturns_DelaysTheEndByItsTimeoutAndNoMore()
    {
        TaskCompletionSource never = new();
        TaskCompletionSource called = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int finals = 0;
        using Gate gate = new();
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            async (x, token) =>
            {
                await gate.WaitAsync(token);
                return x;
            },
            Options with
            {
                Progress = new ProgressOptions
                {
                    ReportInterval = Second,
                    CallbackTimeout = 10 * Second,
                    OnProgressAsync = snapshot =>
                    {
                        finals += snapshot.IsFinal ? 1 : 0;
                        called.TrySetResult();
                        return new ValueTask(never.Task);
                    },
                },
            });
        _time.Advance(Second);
        await called.Task;

        // Reports that are due meanwhile are left out, not queued up.
        _time.Advance(20 * Second);
        gate.Open();
        await WaitForAsync(26 * Second);
        _time.Advance(4.9 * Second);
        Assert.Equal(0, finals);
        _time.Advance(0.1 * Second);
        await Guard.UntilAsync(() => Volatile.Read(ref finals) == 1, "the last report");
        await WaitForAsync(31 * Second);
        _time.Advance(4.9 * Second);
        Assert.False(run.IsCompleted);
        _time.Advance(0.1 * Second);
        Assert.Equal([1], await run);
        never.SetResult();
    }

    [Fact(Timeout = 90_000)]
    public async Task Callback_ThatBlocksItsThreadOrThrows_DoesNotHarmTheRun()
    {
        using Gate gate = new();
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x),
            Options with
            {
                Progress = new ProgressOptions
                {
                    OnProgressAsync = _ =>
                    {
                        gate.Wait(TestContext.Current.CancellationToken);
                        return default;
                    },
                },
            });
        await WaitForAsync(Second);
        Assert.False(run.IsCompleted);
        _time.Advance(Second);
        Assert.Equal([1], await run);

        Assert.Equal([1], await new[] { 1 }.SelectParallelAsync(
            static (x, _) => new ValueTask<int>(x), Options with { Progress = new ProgressOptions { OnProgressAsync = static _ => throw new FormatException() } }));
    }

    /// <summary>Waits until the next timer is the one for that time.</summary>
    private Task WaitForAsync(TimeSpan due) => Guard.UntilAsync(() => _time.NextDue == due, $"a timer for {due}");

    private ValueTask<ProgressSnapshot> NextAsync() => _reports.Reader.ReadAsync(TestContext.Current.CancellationToken);
}
