using System.Collections;
using Weir.Cli.Workloads.UserCode;
using Weir.Lab.Workers;

namespace Weir.Cli.Tests.UserCode;

/// <summary>A method that returns a lazy sequence has done nothing when it returns: the sequence is read.</summary>
public class LazyResultsTests
{
    private const int Operations = 3;
    private const int Elements = 5;

    [Theory(Timeout = 60_000)]
    [InlineData(nameof(Sequences.Typed))]
    [InlineData(nameof(Sequences.WithToken))]
    [InlineData(nameof(Sequences.Untyped))]
    [InlineData(nameof(Sequences.Ordered))]
    [InlineData(nameof(Sequences.Query))]
    [InlineData(nameof(Sequences.Parallel))]
    [InlineData(nameof(Sequences.Async))]
    [InlineData(nameof(Sequences.InATask))]
    [InlineData(nameof(Sequences.InAValueTask))]
    [InlineData(nameof(Sequences.AsyncInATask))]
    [InlineData(nameof(Sequences.AsyncInAValueTask))]
    public async Task Run_MethodThatReturnsALazySequence_ReadsIt(string method) => Assert.Equal(Operations * Elements, await RunAsync(method));

    [Theory(Timeout = 60_000)]
    [InlineData(nameof(Sequences.Collection))]
    [InlineData(nameof(Sequences.Class))]
    [InlineData(nameof(Sequences.Nothing))]
    public async Task Run_MethodThatReturnsWhatIsThere_LeavesItAsItIs(string method) => Assert.Equal(0, await RunAsync(method));

    private static async Task<int> RunAsync(string method)
    {
        Sequences sequences = new();
        Workload workload = new(
            "lazy", context => MethodOperations.Of(typeof(Sequences).GetMethod(method)!, sequences, context.Stopping));
        WindowPlan plan = WindowPlan.OfOne(1, 1, new WholeOperations { Each = Operations });
        WindowOutcome outcome = await Task.Run(
            () => WindowRunner.Run(new WorkerRunSpec { Workload = workload.Name, MeasuresLatency = false }, workload, plan, CancellationToken.None));

        Assert.Null(outcome.FirstError);
        Assert.Equal(Operations, outcome.Executed);
        return sequences.Read;
    }

    private sealed class Sequences
    {
        private int _read;

        public int Read => _read;

        public IEnumerable<int> Typed() => Enumerable.Range(0, Elements).Select(Count);

        public IEnumerable<int> WithToken(CancellationToken token) => token.IsCancellationRequested ? [] : Typed();

        public IEnumerable Untyped() => Typed();

        public IOrderedEnumerable<int> Ordered() => Typed().Order();

        public IQueryable<int> Query() => Typed().AsQueryable();

        public ParallelQuery<int> Parallel() => Typed().AsParallel();

        public async IAsyncEnumerable<int> Async()
        {
            foreach (int number in Typed())
            {
                await Task.Yield();
                yield return number;
            }
        }

        public async Task<IEnumerable<int>> InATask()
        {
            await Task.Yield();
            return Typed();
        }

        public ValueTask<IEnumerable<int>> InAValueTask() => new(Typed());

        public Task<IAsyncEnumerable<int>> AsyncInATask() => Task.FromResult(Async());

        public ValueTask<IAsyncEnumerable<int>> AsyncInAValueTask() => new(Async());

        public IReadOnlyList<int> Collection() => new Counted(this);

        public Counted Class() => new(this);

        public IEnumerable<int>? Nothing() => _read < 0 ? [] : null;

        private int Count(int number)
        {
            Interlocked.Increment(ref _read);
            return number;
        }

        public sealed class Counted(Sequences owner) : IReadOnlyList<int>
        {
            int IReadOnlyCollection<int>.Count => Elements;

            public int this[int index] => index;

            public IEnumerator<int> GetEnumerator() => owner.Typed().GetEnumerator();

            IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
        }
    }
}
