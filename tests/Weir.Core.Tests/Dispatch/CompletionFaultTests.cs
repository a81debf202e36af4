using System.Diagnostics;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Whatever goes wrong at the end of a run reaches whoever waits for it.</summary>
public class CompletionFaultTests
{
    public enum Fault
    {
        Completion,
        Hook,
        LeftOver,
    }

    [Theory(Timeout = 90_000)]
    [InlineData(Fault.Completion)]
    [InlineData(Fault.Hook)]
    [InlineData(Fault.LeftOver)]
    public async Task Run_FaultAtItsEnd_FaultsTheCallersTask(Fault fault)
    {
        Pump pump = Make(fault, static (x, _) => new(x), out ThrowingCompletion completion);
        pump.Start(1, CancellationToken.None);
        Assert.Equal(fault.ToString(), (await Assert.ThrowsAsync<TestException>(() => completion.Task.WithinAsync())).Message);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(Fault.Hook)]
    [InlineData(Fault.Completion)]
    public async Task Run_FaultAtTheEndOfACancelledOne_IsCancelled(Fault fault)
    {
        using CancellationTokenSource stop = new();
        Pump pump = Make(
            fault,
            (x, _) =>
            {
                stop.Cancel();
                return new(x);
            },
            out ThrowingCompletion completion);
        pump.Start(1, stop.Token);
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => completion.Task.WithinAsync());
        Assert.Equal(stop.Token, e.CancellationToken);
    }

    [Fact(Timeout = 90_000)]
    public async Task Stream_FaultAtTheEnd_FaultsItsNextStep()
    {
        Pump? pump = null;
        StreamOutput<int> output = new(false, 1, 4, output =>
        {
            pump = new Pump<int, int, PendingResult<int>, SelectorCall<int, int>, StreamSink<int>>(
                SourceOf.Enumerable([1]),
                new SelectorCall<int, int>(static (x, _) => new(x)),
                new StreamSink<int>(output),
                Settings with { OnEnd = static () => throw new TestException("hook") });
            pump.Start(1, CancellationToken.None);
            return pump;
        });
        await Assert.ThrowsAsync<TestException>(async () =>
        {
            while (await output.MoveNextAsync())
            {
            }
        }).WithinAsync();
        await output.DisposeAsync().AsTask().WithinAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Completion_OfARunThatNobodyGetsResultsOf_DoesNotJoinThem(bool cancelled)
    {
        FailureLog log = new(ErrorMode.FailFast);
        log.AddSource(new TestException("step"));
        RunEnd end = cancelled ? new(new CancellationToken(true), null, int.MaxValue, []) : new(null, log, int.MaxValue, []);

        // To join so many would need more memory than an array may have.
        ListCompletion<Guid> list = new(0);
        GrowingListSink<Guid> results = new(list);
        results.Complete(end);
        Assert.Equal(cancelled, list.Task.IsCanceled);
        OutcomeCompletion<int, Guid> array = new(0);
        GrowingOutcomeSink<int, Guid> outcomes = new(array);
        outcomes.Complete(end);
        Assert.Equal(cancelled, array.Task.IsCanceled);
        Assert.True(array.Task.IsCompleted && list.Task.IsCompleted);
    }

    // The worker asks for help after its first item, for which there is no thread, so the run is over. Then it gives up its own thread, and gets no other.
    [Fact(Timeout = 90_000)]
    public async Task Run_WithoutAThreadForAHelperNorForItsWorker_EndsWithTheFirst()
    {
        OneThreadExecutor executor = new();
        TestRun<int, int> run = new(
            SourceOf.Enumerable(new int[8]),
            static (x, _) =>
            {
                // Long enough for help to be of use.
                long start = Stopwatch.GetTimestamp();
                while (Stopwatch.GetElapsedTime(start) < TimeSpan.FromMilliseconds(5))
                {
                }

                return new(x);
            },
            Settings with { Executor = executor, Limit = 8 });
        run.Start();
        Assert.Equal("queue 2", (await Assert.ThrowsAsync<InsufficientMemoryException>(() => run.Task.WithinAsync())).Message);
        Assert.Equal(3, executor.Queued);
    }

    private static PumpSettings Settings => new() { Limit = 2, ErrorMode = ErrorMode.BestEffort };

    private static Pump Make(Fault fault, Func<int, CancellationToken, ValueTask<int>> selector, out ThrowingCompletion completion)
    {
        completion = new ThrowingCompletion { Throws = fault == Fault.Completion };
        Source<int> source = fault == Fault.LeftOver ? new BrokenSource() : SourceOf.Enumerable(Enumerable.Range(0, 10));
        return new Pump<int, int, PendingResult<int>, SelectorCall<int, int>, ThrowingSink>(
            source,
            new SelectorCall<int, int>(selector),
            new ThrowingSink(completion),
            fault == Fault.Hook ? Settings with { OnEnd = static () => throw new TestException(nameof(Fault.Hook)) } : Settings);
    }

    /// <summary>Has a thread for what is queued first, and none after that. Nobody may keep one beyond an item.</summary>
    private sealed class OneThreadExecutor : Executor
    {
        private int _queued;

        public int Queued => _queued;

        public override int Threads => 4;

        public override bool CanRunOnCurrentThread => false;

        public override long Quantum => 0;

        public override void Queue(IThreadPoolWorkItem worker)
        {
            if (Interlocked.Increment(ref _queued) is > 1 and int number)
            {
                throw new InsufficientMemoryException($"queue {number}");
            }

            ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: false);
        }

        // For the watch, which may look before the worker asks: what it adds waits for a thread.
        public override void QueueWhileBlocked(IThreadPoolWorkItem worker)
        {
        }
    }

    private sealed class ThrowingCompletion : TaskCompletionSource
    {
        public bool Throws { get; set; }
    }

    /// <summary>A sink whose completion throws at first.</summary>
    private readonly struct ThrowingSink(ThrowingCompletion completion) : ISink<int>
    {
        public bool HasSlots => false;

        public bool HasChunks => false;

        public long Ceiling => long.MaxValue;

        public Span<int> Slots(long first, int count) => default;

        public long Undelivered(long ended) => 0;

        public void Succeeded(long index, int result)
        {
        }

        public void Unsuccessful(long index, ItemStatus status, Exception? error)
        {
        }

        public void Complete(RunEnd end)
        {
            if (completion.Throws && end.Cancelled is null)
            {
                completion.Throws = false;
                throw new TestException(nameof(Fault.Completion));
            }

            new DiscardSink(completion).Complete(end);
        }
    }

    private sealed class BrokenSource : Source<int>
    {
        public override int KnownCount => 0;

        public override long NextIndex => 0;

        protected override bool IsDrained => true;

        public override IEnumerable<(long First, int Count)> LeftOver() => throw new TestException(nameof(Fault.LeftOver));

        protected override ClaimResult TryClaimNext(ref Chunk<int> chunk, int max, long ceiling) => ClaimResult.Empty;
    }
}
