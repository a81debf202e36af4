using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;
using Run = Weir.Core.Dispatch.Pump<
    Weir.Core.Tests.Dispatch.LateThreadTests.Item,
    int,
    Weir.Core.Dispatch.PendingResult<int>,
    Weir.Core.Dispatch.SelectorCall<Weir.Core.Tests.Dispatch.LateThreadTests.Item, int>,
    Weir.Core.Sinks.ListSink<int>>;

namespace Weir.Core.Tests.Dispatch;

/// <summary>
/// The thread of a parked call counts down to zero, and is held up before it asks whether the run ends. It asks the run that has taken the place of the ended
/// one, before that has begun: one without items would be over.
/// </summary>
public sealed class LateThreadTests : IDisposable
{
    private static readonly TimeSpan Long = TimeSpan.FromSeconds(60);

    private readonly ManualExecutor _executor = new();
    private readonly ManualResetEventSlim _goesOn = new();
    private readonly SemaphoreSlim _isHeld = new(0);
    private readonly ListCompletion<int> _last = new(1);
    private Task? _late;
    private int _starts;
    private int _calls;

    // What another test has left. Of two runs that are kept, it is the processor that decides which one is next.
    public LateThreadTests()
    {
        while (Spare<Run>.Take() is not null)
        {
        }
    }

    public void Dispose()
    {
        _goesOn.Dispose();
        _isHeld.Dispose();
    }

    [Theory(Timeout = 180_000)]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Thread_OfAnEndedRun_DoesNotEndALaterOne(int count)
    {
#if !DEBUG
        Assert.Skip("A Release build has no places to hold the engine up at.");
#endif
        ListCompletion<int> first = new(1);
        Start(1, static (_, _) => new ValueTask<int>(0), first);
        _executor.RunAll();
        await first.Task.WithinAsync();
        Run kept = Spare<Run>.Take()!;
        Spare<Run>.GiveBack(kept);

        // Two workers: the second one ends the run while the thread of the call is held up.
        TaskCompletionSource<int> call = new();
        ListCompletion<int> ended = new(1);
        Start(1, (_, _) => new ValueTask<int>(call.Task), ended);
        Assert.True(kept.AddQueued());
        _executor.RunOne();
        ListCompletion<int> next = new(count);
        void Pass(string place, object owner) => AtPlace(place, owner, kept);
        FaultPoint.Passed += Pass;
        try
        {
            _late = Task.Run(() => call.SetResult(1), TestContext.Current.CancellationToken);
            Assert.True(await _isHeld.WaitAsync(Long, TestContext.Current.CancellationToken));
            _executor.RunAll();
            Assert.Equal([1], await ended.Task.WithinAsync());
            Start(count, static (item, _) => new ValueTask<int>(item.Value), next);
        }
        finally
        {
            FaultPoint.Passed -= Pass;
            _goesOn.Set();
        }

        _executor.RunAll();
        Assert.Equal(Enumerable.Range(0, count), await next.Task.WithinAsync());
        Assert.Equal([7], await _last.Task.WithinAsync());
        Assert.Equal(1, _calls);
        await _late;
    }

    private void AtPlace(string place, object owner, Run kept)
    {
        if (place == "Pump.ParkedSucceeded" && ReferenceEquals(owner, kept) && !_goesOn.IsSet)
        {
            _isHeld.Release();
            _goesOn.Wait();
        }
        else if (place == "Pump.Start" && owner is Run && Interlocked.Increment(ref _starts) == 1)
        {
            // The later run is about to begin. The thread comes, and then yet another run starts.
            _goesOn.Set();
            Assert.True(_late!.Wait(Long, TestContext.Current.CancellationToken));
            Start(
                1,
                (_, _) =>
                {
                    _calls++;
                    return new ValueTask<int>(7);
                },
                _last);
        }
    }

    private void Start(int count, Func<Item, CancellationToken, ValueTask<int>> selector, ListCompletion<int> completion)
    {
        Item[] items = [.. Enumerable.Range(0, count).Select(static x => new Item(x))];
        PlainRun.Start(
            SourceOf.Enumerable(items),
            selector,
            new ListSink<int>(completion),
            new PumpSettings { Limit = 4, ErrorMode = ErrorMode.FailFast, Executor = _executor },
            null,
            default);
    }

    internal sealed record Item(int Value);
}
