using System.Runtime.CompilerServices;
using Weir.Core.Sinks;

namespace Weir.Core.Tests.Sinks;

public class StreamOutputTests
{
    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task MoveNextAsync_NothingThereYet_WaitsForTheNextResult(bool ordered)
    {
        FakeRun run = new();
        StreamOutput<int> output = Create(ordered, 2, 4, run);
        ValueTask<bool> step = output.MoveNextAsync();
        Assert.False(step.IsCompleted);
        output.Add(0, 42);
        Assert.True(await step);
        Assert.Equal(42, output.Current);
        output.Complete(End(1));
        Assert.False(await output.MoveNextAsync());
    }

    [Fact(Timeout = 90_000)]
    public async Task OrderedOutput_SkippedItems_HoldUpNothing()
    {
        StreamOutput<int> output = Create(ordered: true, 4, 8, new FakeRun());
        ValueTask<bool> step = output.MoveNextAsync();
        output.Add(2, 2);
        output.Skip(1);
        Assert.False(step.IsCompleted);
        output.Skip(0);
        Assert.True(await step);
        Assert.Equal(2, output.Current);
    }

    [Fact(Timeout = 90_000)]
    public async Task OrderedOutput_ItemsThatNeverRan_AreLeftOutAtTheEnd()
    {
        StreamOutput<int> output = Create(ordered: true, 4, 8, new FakeRun());
        ValueTask<bool> step = output.MoveNextAsync();
        output.Add(0, 0);
        Assert.True(await step);
        output.Add(2, 2);
        output.Skip(3);
        output.Add(6, 6);
        step = output.MoveNextAsync();
        Assert.False(step.IsCompleted);
        output.Complete(End(8));
        Assert.True(await step);
        Assert.Equal(2, output.Current);
        Assert.True(await output.MoveNextAsync());
        Assert.Equal(6, output.Current);
        Assert.False(await output.MoveNextAsync());
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Ceiling_AsItemsAreHandedOutAndSkipped_RisesByEachOfThem(bool ordered)
    {
        FakeRun run = new();
        StreamOutput<int> output = Create(ordered, 1, 1, run);
        Assert.Equal(2, output.Ceiling);
        ValueTask<bool> step = output.MoveNextAsync();
        output.Add(0, 0);
        await step;
        Assert.Equal(3, output.Ceiling);
        Assert.Equal(1, run.Releases);
        output.Skip(1);

        // In source order, the consumer passes it when it comes to it.
        ValueTask<bool> next = output.MoveNextAsync();
        Assert.False(next.IsCompleted);
        Assert.Equal(4, output.Ceiling);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task Chunk_WhoseNextItemTakesLong_GivesWhatIsThere(bool ordered, bool asksBefore)
    {
        StreamOutput<int> output = Create(ordered, 2, 40, new FakeRun());
        ResultChunk? held = null;
        Assert.Equal(16, output.Open(ref held, 0, 16));
        ValueTask<bool> step = default;
        if (asksBefore)
        {
            step = output.MoveNextAsync();
            Assert.False(step.IsCompleted);
        }

        for (int i = 0; i < 2; i++)
        {
            Store(held!, i);
        }

        // The worker is inside the third call. It has not closed its chunk.
        step = asksBefore ? step : output.MoveNextAsync();
        Assert.True(await step);
        Assert.Equal(0, output.Current);
        Assert.True(await output.MoveNextAsync());
        Assert.Equal(1, output.Current);
        step = output.MoveNextAsync();
        Assert.False(step.IsCompleted);
        Store(held!, 2);
        Assert.True(await step);
        Assert.Equal(2, output.Current);
        output.Close(ref held);
        Assert.Null(held);
        output.Close(ref held);
        output.Complete(End(3));
        Assert.False(await output.MoveNextAsync());
    }

    [Fact(Timeout = 90_000)]
    public async Task Chunk_OfAWorkerInALongCall_IsNotHeldBackByThoseOfOthers()
    {
        StreamOutput<int> output = Create(ordered: false, 2, 600, new FakeRun());
        ResultChunk? slow = null;
        output.Open(ref slow, 0, 8);
        Store(slow!, 0);
        List<int> seen = [];
        for (int first = 256; first < 600; first += 8)
        {
            ResultChunk? quick = null;
            Assert.Equal(8, output.Open(ref quick, first, 8));
            for (int i = first; i < first + 8; i++)
            {
                Store(quick!, i);
            }

            output.Close(ref quick);
            Assert.True(await output.MoveNextAsync());
            seen.Add(output.Current);
        }

        // After a few of the others, and not behind all of them.
        Assert.Contains(0, seen.Take(24));
    }

    [Fact(Timeout = 90_000)]
    public async Task Table_ThatGrowsWhileResultsWait_LosesNone()
    {
        StreamOutput<int> output = Create(ordered: true, 1, 31, new FakeRun());
        ValueTask<bool> step = output.MoveNextAsync();
        for (int i = 31; i > 0; i--)
        {
            output.Add(i, i);
        }

        output.Widen(2_000, 31);
        Assert.Equal(2_031, output.Ceiling);
        for (int i = 2_030; i > 31; i--)
        {
            output.Add(i, i);
        }

        Assert.False(step.IsCompleted);
        output.Add(0, 0);
        output.Complete(End(2_031));
        List<int> seen = [];
        while (await step)
        {
            seen.Add(output.Current);
            step = output.MoveNextAsync();
        }

        Assert.Equal(Enumerable.Range(0, 2_031), seen);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task DisposeAsync_ResultsInOpenAndClosedChunksAndAlone_AreDisposedOf(bool ordered)
    {
        FakeRun run = new();
        UnusedResults<Disposable> unused = new(static result => result, null, TimeProvider.System);
        StreamOutput<Disposable> output = new(ordered, 4, 100, _ => run) { Unused = unused };
        Disposable[] results = [.. Enumerable.Range(0, 24).Select(static _ => new Disposable())];
        ResultChunk? closed = null;
        ResultChunk? open = null;
        output.Open(ref closed, 0, 8);
        output.Open(ref open, 16, 8);
        for (int i = 0; i < 8; i++)
        {
            Unsafe.As<ResultChunk<Disposable>>(closed!).Store(i, results[i]);
            Unsafe.As<ResultChunk<Disposable>>(open!).Store(16 + i, results[16 + i]);
            output.Add(8 + i, results[8 + i]);
        }

        output.Close(ref closed);
        List<Disposable> yielded = [];
        for (int i = 0; i < 3; i++)
        {
            Assert.True(await output.MoveNextAsync());
            yielded.Add(output.Current);
        }

        // The call of its worker was given up. It comes back later, and closes a chunk that nobody has any more.
        output.Complete(End(24));
        await output.DisposeAsync();
        output.Close(ref open);
        Assert.All(yielded, static result => Assert.False(result.IsDisposed));
        Assert.Equal(21, results.Count(static result => result.IsDisposed));
    }

    [Fact(Timeout = 60_000)]
    public async Task Outputs_AnyOrderOfEndsAndSkips_HandOutEachResultOnceAndInOrderWhenPromised()
    {
        for (int seed = 0; seed < 200; seed++)
        {
            Random random = new(seed);
            int count = random.Next(0, 400);
            int window = random.Next(2, random.Next(2) == 0 ? 40 : 400);
            bool ordered = random.Next(2) == 0;
            StreamOutput<int> output = Create(ordered, 1, window - 1, new FakeRun());
            HashSet<int> skipped = [];
            List<int> seen = [];
            List<int> open = [];
            ResultChunk? held = null;
            int next = 0;
            ValueTask<bool>? step = output.MoveNextAsync();
            while (next < count || open.Count > 0)
            {
                if (next < count && next < output.Ceiling && random.Next(2) == 0)
                {
                    // A worker that claims several, and whose calls suspend or fail from somewhere on.
                    int claimed = Math.Min(random.Next(12), (int)Math.Min(count, output.Ceiling) - next);
                    while (claimed > 0)
                    {
                        int first = next;
                        int fits = output.Open(ref held, first, claimed);
                        for (int end = first + (random.Next(4) == 0 ? random.Next(fits) : fits); next < end; next++)
                        {
                            Store(held!, next);
                        }

                        for (; next < first + fits; next++)
                        {
                            open.Add(next);
                        }

                        claimed -= fits;
                    }

                    if (next < count && next < output.Ceiling)
                    {
                        open.Add(next++);
                    }

                    if (random.Next(2) == 0)
                    {
                        output.Close(ref held);
                    }
                }
                else if (open.Count > 0)
                {
                    int pick = random.Next(open.Count);
                    int index = open[pick];
                    open.RemoveAt(pick);
                    if (random.Next(4) == 0)
                    {
                        skipped.Add(index);
                        output.Skip(index);
                    }
                    else
                    {
                        output.Add(index, index);
                    }
                }

                while (step is { } pending && pending.IsCompleted)
                {
                    Assert.True(await pending);
                    seen.Add(output.Current);
                    step = output.MoveNextAsync();
                }

                // A wake-up is posted, so that the consumer may lag behind for a moment; it must come when nothing else can go on.
                if (open.Count == 0 && next >= output.Ceiling && next < count)
                {
                    Assert.True(await step!.Value);
                    seen.Add(output.Current);
                    step = output.MoveNextAsync();
                }
            }

            output.Complete(End(count));
            while (await step!.Value)
            {
                seen.Add(output.Current);
                step = output.MoveNextAsync();
            }

            IEnumerable<int> expected = Enumerable.Range(0, count).Where(i => !skipped.Contains(i));
            Assert.Equal(expected, ordered ? seen : seen.Order());
            await output.DisposeAsync();
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task DisposeAsync_WhileTheRunIsOn_StopsItAndWaitsForItsEnd()
    {
        FakeRun run = new();
        StreamOutput<int> output = Create(ordered: false, 1, 1, run);
        ValueTask<bool> step = output.MoveNextAsync();
        output.Add(0, 1);
        Assert.True(await step);
        Task disposed = output.DisposeAsync().AsTask();
        Assert.True(run.Abandoned);
        Assert.False(disposed.IsCompleted);
        output.Complete(End(1));
        await disposed;
        Assert.False(await output.MoveNextAsync());
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Results_TakenOverBeforeARunFailedAndWasCancelled_AreYieldedOrDisposedOf(bool ordered)
    {
        using CancellationTokenSource stop = new();
        FakeRun run = new();
        UnusedResults<Disposable> unused = new(static result => result, null, TimeProvider.System);
        Func<StreamOutput<Disposable>, IRunHandle> start = _ => run;
        StreamOutput<Disposable> output = new StreamOutput<Disposable>(ordered, 4, 4, start) { CallToken = stop.Token, Unused = unused };
        Disposable[] results = [new(), new(), new(), new()];
        ValueTask<bool> step = output.MoveNextAsync();
        for (int i = 0; i < 3; i++)
        {
            output.Add(i, results[i]);
        }

        // The first step takes all three over.
        Assert.True(await step);
        List<Disposable> yielded = [output.Current];
        run.HasFailed = true;
        await stop.CancelAsync();
        output.Add(3, results[3]);
        Assert.True(await output.MoveNextAsync());
        yielded.Add(output.Current);
        FailureLog failures = new(ErrorMode.FailFast);
        failures.AddItem(4, new InvalidOperationException());
        output.Complete(new RunEnd(null, failures, 5, []));
        await output.DisposeAsync();
        Assert.Equal(results, yielded.Concat(results.Where(static result => result.IsDisposed)));
        Assert.All(yielded, static result => Assert.False(result.IsDisposed));
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Missing_ItemsThatNeverRan_ComeAtTheEnd(bool ordered)
    {
        FakeRun run = new();
        Func<StreamOutput<int>, IRunHandle> start = _ => run;
        StreamOutput<int> output = new StreamOutput<int>(ordered, 2, 4, start) { Missing = (200, static (i, _) => -(int)i) };
        ValueTask<bool> step = output.MoveNextAsync();
        output.Add(0, 0);
        output.Add(2, 2);
        output.Complete(new RunEnd(null, null, 4, [(1, 1), (3, 1)]));
        List<int> seen = [];
        while (await step)
        {
            seen.Add(output.Current);
            step = output.MoveNextAsync();
        }

        int[] expected = [0, 2, -1, .. Enumerable.Range(3, 197).Select(static i => -i)];
        Assert.Equal(expected.OrderBy(Math.Abs), ordered ? seen : seen.OrderBy(Math.Abs));
    }

    private static void Store(ResultChunk held, int index) => Unsafe.As<ResultChunk<int>>(held).Store(index, index);

    private static StreamOutput<int> Create(bool ordered, int limit, int capacity, FakeRun run) =>
        new(ordered, limit, capacity, _ => run);

    private static RunEnd End(int claimed) => new(null, null, claimed, []);

    private sealed class Disposable : IDisposable
    {
        public bool IsDisposed { get; private set; }

        public void Dispose() => IsDisposed = true;
    }

    private sealed class FakeRun : IRunHandle
    {
        public int Releases { get; private set; }

        public bool Abandoned { get; private set; }

        public bool HasFailed { get; set; }

        public void Cancel(CancellationToken by)
        {
        }

        public void Abandon() => Abandoned = true;

        public void Release() => Releases++;
    }
}
