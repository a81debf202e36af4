using System.Threading.Channels;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Tests.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Who reads, who runs, and whose place is whose, under interleavings that the test chooses.</summary>
public class TurnTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly ManualExecutor _executor = new();
    private readonly Channel<int> _channel = Channel.CreateUnbounded<int>(new UnboundedChannelOptions { AllowSynchronousContinuations = true });
    private readonly List<int> _calls = [];

    [Fact(Timeout = 90_000)]
    public async Task Retry_DueWhileTheReaderWaits_TakesItsPlaceAndGivesItBack()
    {
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = Start(static x => new ValueTask<int>(x));
        _executor.RunAll();
        Assert.Equal([0], _calls);
        Assert.Equal(0, pump.Sample().InFlight);

        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(2, pump.Live);
        _executor.RunAll();
        Assert.Equal([0, 0], _calls);
        Assert.Equal(1, pump.Live);

        // The reader has its place again, so its item starts.
        _channel.Writer.TryWrite(1);
        _executor.RunAll();
        Assert.Equal([0, 0, 1], _calls);
        await EndAsync(task);
    }

    [Fact(Timeout = 90_000)]
    public async Task Reader_WhenAnotherWorkerHasItsPlace_GivesItsItemBackAndStartsNothing()
    {
        TaskCompletionSource<int> second = new();
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = Start(x => _calls.Count == 2 ? new ValueTask<int>(second.Task) : new ValueTask<int>(x));
        _executor.RunAll();
        _time.Advance(TimeSpan.FromSeconds(1));

        // The retry runs, and the next item comes while it does.
        _executor.RunAll();
        _channel.Writer.TryWrite(1);
        _executor.RunAll();
        Assert.Equal([0, 0], _calls);
        Assert.Equal(1, pump.Sample().InFlight);

        second.SetResult(0);
        _executor.RunAll();
        Assert.Equal([0, 0, 1], _calls);
        await EndAsync(task);
    }

    [Fact(Timeout = 90_000)]
    public async Task Reader_WhosePlaceAWorkerHasThatHasNotBegun_LeavesItsItemToThatOne()
    {
        (Pump pump, Task<ItemOutcome<int, int>[]> task) = Start(static x => new ValueTask<int>(x));
        _executor.RunAll();
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(1, _executor.Queued);

        // The reader comes first: it goes on inside the write.
        _channel.Writer.TryWrite(1);
        Assert.Equal([0], _calls);
        Assert.Equal(1, pump.Live);
        _executor.RunAll();
        Assert.Equal([0, 0, 1], _calls.Order());
        await EndAsync(task);
    }

    [Fact(Timeout = 90_000)]
    public async Task LongItems_OfALazySource_CallTheNextReaderBeforeTheyRun()
    {
        int helpersAtWork = 0;
        TestRun<int, int> run = new(
            SourceOf.Enumerable(Lazy(20)),
            (x, _) =>
            {
                long began = TimeProvider.System.GetTimestamp();
                while (TimeProvider.System.GetElapsedTime(began) < TimeSpan.FromMilliseconds(0.2))
                {
                    Thread.SpinWait(10);
                }

                helpersAtWork += _executor.Queued > 0 ? 1 : 0;
                return new ValueTask<int>(x);
            },
            new PumpSettings { Limit = 4, ErrorMode = ErrorMode.FailFast, Executor = _executor });
        run.Start();
        _executor.RunOne();

        // The first ones are needed to learn how long they take.
        Assert.True(helpersAtWork >= 15, $"A helper was on its way during {helpersAtWork} of 20 items.");
        _executor.RunAll();
        Assert.Equal(Enumerable.Range(0, 20), await run.Task);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("array")]
    [InlineData("list")]
    [InlineData("collection")]
    [InlineData("lazy")]
    [InlineData("async")]
    [InlineData("channel")]
    public async Task TinyItems_AndThenOneThatBlocksForTheNext_EndAll(string kind)
    {
        using Gate next = new();
        int[] begun = new int[100_001];
        TestRun<int, int> run = new(
            KindsOfSource.Of(kind, Lazy(100_001)),
            (x, _) =>
            {
                Interlocked.Increment(ref begun[x]);
                if (x == 99_990)
                {
                    next.Wait(CancellationToken.None);
                }
                else if (x == 99_991)
                {
                    next.Open();
                }

                return new ValueTask<int>(x);
            },
            new PumpSettings { Limit = 2, ErrorMode = ErrorMode.FailFast });
        Assert.Equal(Enumerable.Range(0, 100_001), await run.Start().Task);
        Assert.All(begun, static times => Assert.Equal(1, times));
    }

    [Theory(Timeout = 60_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task TinyItems_AndThenAFailure_AreCountedExactly(bool inSource)
    {
        ItemsFailedException? failed = null;
        int calls = 0;
        TestRun<int, int> run = new(
            SourceOf.Enumerable(inSource ? Lazy(50_000).Select(static x => x == 40_000 ? throw new FormatException() : x) : Lazy(50_000)),
            (x, _) =>
            {
                Interlocked.Increment(ref calls);
                return !inSource && x == 40_000 ? throw new FormatException() : new ValueTask<int>(x);
            },
            new PumpSettings { Limit = 2, ErrorMode = inSource ? ErrorMode.CollectAndContinue : ErrorMode.FailFast });
        Exception? thrown = await Record.ExceptionAsync(() => run.Start().Task);
        failed = thrown as ItemsFailedException;
        Assert.True(thrown is FormatException || failed is not null, $"{thrown}");
        Assert.Equal(calls - (inSource ? 0 : 1), run.Pump.Sample().Succeeded);

        // A worker may have read items that it did not begin, because the run was over by then.
        Assert.InRange(run.Pump.Sample().Claimed, calls, calls + 256);
    }

    [Fact(Timeout = 90_000)]
    public async Task TinyItems_ForAConsumerThatIsBehind_LeaveTheirThread()
    {
        Pump<int, int, PendingResult<int>, SelectorCall<int, int>, StreamSink<int>> pump = null!;
        await using StreamOutput<int> output = new(true, 1, 5_000, sink =>
        {
            PumpSettings settings = new() { Limit = 1, ErrorMode = ErrorMode.FailFast, Executor = _executor };
            pump =
                new(SourceOf.Enumerable(Lazy(20_000)), new SelectorCall<int, int>(static (x, _) => new ValueTask<int>(x)), new StreamSink<int>(sink), settings);
            pump.Start(1, default);
            return pump;
        });
        for (int i = 0; i < 20_000; i++)
        {
            ValueTask<bool> step = output.MoveNextAsync();
            _executor.RunAll();
            Assert.True(await step);
            Assert.Equal(i, output.Current);
        }

        Assert.False(await output.MoveNextAsync());
    }

    private static IEnumerable<int> Lazy(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }
    }

    /// <summary>Starts a run of the channel, which has one item. Its first call fails, and is made again after a second.</summary>
    private (Pump Pump, Task<ItemOutcome<int, int>[]> Task) Start(Func<int, ValueTask<int>> then)
    {
        _channel.Writer.TryWrite(0);
        OutcomeCompletion<int, int> completion = new(-1);
        Pump pump = new Pump<int, int, PendingResult<int>, SelectorCall<int, int>, GrowingOutcomeSink<int, int>>(
            SourceOf.Channel(_channel.Reader),
            new SelectorCall<int, int>((x, _) =>
            {
                _calls.Add(x);
                return _calls.Count == 1 ? throw new IOException() : then(x);
            }),
            new GrowingOutcomeSink<int, int>(completion),
            new PumpSettings { Limit = 1, ErrorMode = ErrorMode.BestEffort, Executor = _executor, TimeProvider = _time },
            new ScriptedRecovery(static _ => Decision<int>.Retry(TimeSpan.FromSeconds(1))));
        ManualExecutor.Start(pump);
        return (pump, completion.Task);
    }

    private async Task EndAsync(Task<ItemOutcome<int, int>[]> task)
    {
        _channel.Writer.Complete();
        _executor.RunAll();
        Assert.All(await task, static o => Assert.True(o.IsSuccess));
    }
}
