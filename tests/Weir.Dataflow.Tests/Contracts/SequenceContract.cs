using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>When does an ordered TransformMany with several calls at a time send what their sequences give?</summary>
public abstract class SequenceContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    private const int Bound = 4;

    public static TheoryData<BlockKind> Many => [BlockKind.Many, BlockKind.ManyAsync, BlockKind.ManyStream];

    public static TheoryData<BlockKind, int> ManyAndBounds => new MatrixTheoryData<BlockKind, int>(
        [BlockKind.Many, BlockKind.ManyAsync, BlockKind.ManyStream], [DataflowBlockOptions.Unbounded, 100]);

    /// <summary>Whether a call that began before its turn sends what it has when its turn comes, and then one by one.</summary>
    protected virtual bool StreamsFromItsTurnOn => true;

    /// <summary>Whether a call before its turn stops to read when it keeps as many outputs as the block's bound.</summary>
    protected virtual bool KeepsBound => true;

    /// <summary>Whether a block that was cancelled or has failed stops to read the sequences of its calls.</summary>
    protected virtual bool EndStopsSequences => true;

    [Theory(Timeout = Limit)]
    [MemberData(nameof(ManyAndBounds), MemberType = typeof(SequenceContract<MicrosoftBlocks>))]
    public async Task Ordered_FirstCallHasNotEnded_SendsWhatItGave(BlockKind kind, int bound)
    {
        using var gate = new Probes.Gate();
        IPropagatorBlock<int, int> block = Create(kind, bound, i => Steps(() => i, () => i + 1, () => Pass(gate, i + 2)));
        block.PostAll(0);
        Assert.Equal(0, await Next(block));
        Assert.Equal(1, await Next(block));
        block.Complete();
        gate.AwaitArrivals();
        Assert.False(block.Receivable().TryReceive(out _));
        gate.Open();
        Assert.Equal(2, await Next(block));
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(ManyAndBounds), MemberType = typeof(SequenceContract<MicrosoftBlocks>))]
    public async Task Ordered_SecondCallIsAhead_WaitsForTheFirst(BlockKind kind, int bound)
    {
        using var first = new Probes.Gate();
        using var second = new Probes.Gate();
        IPropagatorBlock<int, int> block = Create(kind, bound, i => i == 0 ? Steps(() => 0, () => Pass(first, 1)) : Steps(() => i, () => i + 1, () => Pass(second, i + 2)));
        block.PostAll(0, 10);
        block.Complete();
        first.AwaitArrivals();
        second.AwaitArrivals();
        Assert.Equal(0, await Next(block));
        Assert.False(block.Receivable().TryReceive(out _));
        first.Open();
        Assert.Equal(1, await Next(block));
        if (!StreamsFromItsTurnOn)
        {
            second.Open();
        }

        Assert.Equal(10, await Next(block));
        Assert.Equal(11, await Next(block));
        second.Open();
        Assert.Equal(12, await Next(block));
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Many), MemberType = typeof(SequenceContract<MicrosoftBlocks>))]
    public async Task Ordered_BoundedAndNotItsTurn_ReadsNoMoreThanTheBound(BlockKind kind)
    {
        const int Length = 10 * Bound;
        using var first = new Probes.Gate();
        int read = 0;
        IPropagatorBlock<int, int> block = Create(
            kind, Bound, i => i == 0 ? Steps(() => Pass(first, 0)) : Enumerable.Range(i, Length).Select(x => { Interlocked.Increment(ref read); return x; }));
        block.PostAll(0, 10);
        block.Complete();
        first.AwaitArrivals();
        Eventually.Equal(KeepsBound ? Bound : Length, () => Volatile.Read(ref read));
        Never.True(() => KeepsBound && Volatile.Read(ref read) > Bound);
        first.Open();
        for (int i = 0; i <= Length; i++)
        {
            Assert.Equal(i == 0 ? 0 : 9 + i, await Next(block));
        }

        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Many), MemberType = typeof(SequenceContract<MicrosoftBlocks>))]
    public async Task Ordered_BoundedAndAllTaken_HasItsRoomBack(BlockKind kind)
    {
        const int Calls = 1000;
        using var gate = new Probes.Gate();
        IPropagatorBlock<int, int> block = Create(
            kind,
            Bound,
            i => i < 0 ? Steps(() => Pass(gate, i)) : Enumerable.Range(0, i * 7 % 11).Select(j => { Thread.SpinWait(((i * 31) + (j * 17)) % 50); return (20 * i) + j; }),
            parallelism: 3);
        Task<List<int>> all = Task.Run(async () =>
        {
            List<int> seen = [];
            int expected = Enumerable.Range(0, Calls).Sum(static i => i * 7 % 11);
            while (seen.Count < expected)
            {
                seen.Add(await Next(block));
            }

            return seen;
        });
        for (int i = 0; i < Calls; i++)
        {
            Assert.True(await Eventually.Result(block.SendAsync(i)));
        }

        Assert.Equal(
            Enumerable.Range(0, Calls).SelectMany(static i => Enumerable.Range(20 * i, i * 7 % 11)), await Eventually.Result(all));
        for (int i = 1; i <= Bound; i++)
        {
            Eventually.True(() => block.Post(-i), "There is not as much room as there was.");
        }

        Assert.False(block.Post(-Bound - 1));
        gate.Open();
        block.Complete();
        for (int i = 1; i <= Bound; i++)
        {
            Assert.Equal(-i, await Next(block));
        }

        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(ManyAndBounds), MemberType = typeof(SequenceContract<MicrosoftBlocks>))]
    public async Task Ordered_EndlessAndCancelled_Ends(BlockKind kind, int bound)
    {
        using var cancel = new CancellationTokenSource();
        var stop = new StrongBox<bool>();
        int begun = 0;
        int disposed = 0;
        IPropagatorBlock<int, int> block = Create(
            kind,
            bound,
            i => Endless(i, stop, () => Interlocked.Increment(ref disposed), () => Interlocked.Increment(ref begun)),
            token: cancel.Token);
        block.PostAll(0, 1_000_000_000);
        Eventually.Equal(2, () => Volatile.Read(ref begun));
        Assert.Equal(0, await Next(block));
        Assert.Equal(1, await Next(block));
        await cancel.CancelAsync();
        Stop(stop);
        Assert.Equal(TaskStatus.Canceled, await Eventually.Status(block.Completion));
        Assert.Equal(2, disposed);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(ManyAndBounds), MemberType = typeof(SequenceContract<MicrosoftBlocks>))]
    public async Task Ordered_EndlessAndAnotherCallThrows_Fails(BlockKind kind, int bound)
    {
        using var gate = new Probes.Gate();
        var stop = new StrongBox<bool>();
        int disposed = 0;
        IPropagatorBlock<int, int> block = Create(
            kind, bound, i => i == 0 ? Endless(i, stop, () => Interlocked.Increment(ref disposed)) : Throwing(i, gate));
        block.PostAll(0, 10);
        Assert.Equal(0, await Next(block));
        gate.AwaitArrivals();
        gate.Open();
        Stop(stop);
        AggregateException failure = await Assert.ThrowsAsync<AggregateException>(async () =>
        {
            await ((Task)block.Completion.WaitAsync(Eventually.Patience)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            block.Completion.Wait(0);
        });
        Assert.IsType<FormatException>(failure.Flatten().InnerException);
        Assert.Equal(1, disposed);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(ManyAndBounds), MemberType = typeof(SequenceContract<MicrosoftBlocks>))]
    public async Task Ordered_FirstCallThrowsAfterAnOutput_FailsAfterThat(BlockKind kind, int bound)
    {
        using var gate = new Probes.Gate();
        IPropagatorBlock<int, int> block = Create(kind, bound, i => Throwing(i, gate));
        block.PostAll(0);
        Assert.Equal(0, await Next(block));
        gate.Open();
        Assert.Equal(TaskStatus.Faulted, await Eventually.Status(block.Completion));
        Assert.IsType<FormatException>(block.Completion.Exception!.Flatten().InnerException);
    }

    private static Task<int> Next(IPropagatorBlock<int, int> block) => Eventually.Result(block.ReceiveAsync());

    private static IEnumerable<int> Steps(params Func<int>[] steps) => steps.Select(static step => step());

    private static int Pass(Probes.Gate gate, int item)
    {
        gate.Pass();
        return item;
    }

    private static IEnumerable<int> Throwing(int item, Probes.Gate gate)
    {
        yield return item;
        gate.Pass();
        throw new FormatException("sequence");
    }

    // A sequence that nobody has begun to read has nothing to dispose of.
    private static IEnumerable<int> Endless(int item, StrongBox<bool> stop, Action disposed, Action? begun = null)
    {
        try
        {
            begun?.Invoke();
            yield return item++;
            while (!Volatile.Read(ref stop.Value))
            {
                yield return item++;

                // The test looks at the first ones, and its memory is not endless.
                Thread.Yield();
            }
        }
        finally
        {
            disposed();
        }
    }

    private void Stop(StrongBox<bool> stop)
    {
        if (!EndStopsSequences)
        {
            Volatile.Write(ref stop.Value, true);
        }
    }

    /// <summary>A block whose delegate's sequence is read one by one, and only then.</summary>
    [SuppressMessage("Reliability", "CA2016", Justification = "The sequence has no token.")]
    private IPropagatorBlock<int, int> Create(
        BlockKind kind, int bound, Func<int, IEnumerable<int>> sequence, int parallelism = 2, CancellationToken token = default)
    {
        ExecutionDataflowBlockOptions options =
            new() { MaxDegreeOfParallelism = parallelism, BoundedCapacity = bound, CancellationToken = token };
        return kind switch
        {
            BlockKind.Many => Blocks.Many<int, int>(i => Lazy(sequence(i)), options),
            BlockKind.ManyAsync => Blocks.ManyAsync<int, int>(
                async i =>
                {
                    await Task.Yield();
                    return Lazy(sequence(i));
                },
                options),
            _ => Blocks.ManyStream<int, int>(i => Stream(sequence(i)), options),
        };
    }

    private static IEnumerable<int> Lazy(IEnumerable<int> items)
    {
        foreach (int item in items)
        {
            yield return item;
        }
    }

    private static async IAsyncEnumerable<int> Stream(IEnumerable<int> items)
    {
        foreach (int item in items)
        {
            await Task.Yield();
            yield return item;
        }
    }
}
