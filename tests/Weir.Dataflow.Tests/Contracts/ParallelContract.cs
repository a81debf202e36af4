using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Contracts;

/// <summary>How many delegates run at once, and in which order do results come out?</summary>
public abstract class ParallelContract<TBlocks> : Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    public static TheoryData<BlockKind, bool> InEachOrder { get; } = Kinds.With(Kinds.Transforms, true, false);

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegates_DegreeOne_NeverOverlap(BlockKind kind) => Assert.Equal(1, await MostAtOnce(kind, 1, 300));

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegates_DegreeThree_NeverMoreAtOnce(BlockKind kind) => Assert.InRange(await MostAtOnce(kind, 3, 300), 1, 3);

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegates_DegreeTwo_DoOverlap(BlockKind kind)
    {
        using var gate = new Probes.Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Degree = 2, Body = _ => gate.Pass() });
        subject.FeedNumbers(3);
        gate.AwaitArrivals(2);
        Never.True(() => gate.Arrived > 2);
        gate.Open();
        await End(subject, 3);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Executing), MemberType = typeof(Kinds))]
    public async Task Delegates_DegreeTwoAfterManyShortCalls_DoOverlap(BlockKind kind)
    {
        const int Short = 3000;
        using var gate = new Probes.Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Degree = 2,
            Body = s =>
            {
                if (int.Parse(s) >= Short)
                {
                    gate.Pass();
                }
            },
        });
        subject.FeedNumbers(Short + 3);
        gate.AwaitArrivals(2);
        Never.True(() => gate.Arrived > 2);
        gate.Open();
        await End(subject, Short + 3);
    }

    [Theory(Timeout = Limit)]
    [InlineData(2)]
    [InlineData(DataflowBlockOptions.Unbounded)]
    public async Task Delegates_WaitForTheNextOneAfterManyShortCalls_AreJoinedByIt(int degree)
    {
        const int Short = 3000;
        using var next = new SemaphoreSlim(0);
        ITargetBlock<int> block = Blocks.Action<int>(
            i =>
            {
                if (i % Short == Short - 2)
                {
                    Assert.True(next.Wait(Eventually.Patience));
                }
                else if (i % Short == Short - 1)
                {
                    next.Release();
                }
            },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = degree });
        block.PostAll(Enumerable.Range(0, Short * 4));
        block.Complete();
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [InlineData(DataflowBlockOptions.Unbounded)]
    [InlineData(5)]
    public async Task AsyncDelegates_Pending_StartUpToTheDegree(int degree)
    {
        var release = new TaskCompletionSource();
        int started = 0;
        ITargetBlock<int> block = Blocks.ActionAsync<int>(
            _ => { Interlocked.Increment(ref started); return release.Task; },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = degree });
        block.PostAll(Enumerable.Range(0, 20));
        int expected = degree == DataflowBlockOptions.Unbounded ? 20 : degree;
        Eventually.Equal(expected, () => Volatile.Read(ref started));
        Never.True(() => Volatile.Read(ref started) > expected);
        release.SetResult();
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.Equal(20, started);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Transforming), MemberType = typeof(Kinds))]
    public async Task Output_OrderedAndFirstIsSlow_WaitsForIt(BlockKind kind)
    {
        using var gate = new Probes.Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Degree = 2, Body = s => Hold(s, gate) });
        subject.FeedNumbers(5);
        gate.AwaitArrivals();
        Eventually.Equal(0, () => subject.InputCount ?? 0);
        Never.True(() => subject.Take() is not null);
        gate.Open();
        Assert.Equal(["0", "1", "2", "3", "4"], await End(subject, 5));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Kinds.Transforming), MemberType = typeof(Kinds))]
    public async Task Output_UnorderedAndFirstIsSlow_DoesNotWaitForIt(BlockKind kind)
    {
        using var gate = new Probes.Gate();
        Subject subject = Blocks.Create(kind, new BlockSettings { Degree = 2, Ordered = false, Body = s => Hold(s, gate) });
        subject.FeedNumbers(3);
        var taken = new List<string>();
        Eventually.True(() => Collect(subject, taken).Count == 2);
        Assert.Equal(["1", "2"], taken);
        gate.Open();
        Assert.Equal(["0"], await End(subject, 1));
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(InEachOrder))]
    public async Task Output_InParallel_IsCompleteAndInOrderWhenPromised(BlockKind kind, bool ordered)
    {
        BlockSettings settings = new() { Degree = 4, Ordered = ordered, Body = static s => Thread.SpinWait(int.Parse(s) * 7919 % 200) };
        Subject subject = Blocks.Create(kind, settings);
        subject.FeedNumbers(500);
        IEnumerable<int> output = (await End(subject, 500)).Select(int.Parse);
        Assert.Equal(Enumerable.Range(0, 500), ordered ? output : output.Order());
    }

    [Theory(Timeout = Limit)]
    [InlineData(true, -1)]
    [InlineData(false, -1)]
    [InlineData(true, 1_000_000)]
    [InlineData(false, 1_000_000)]
    public async Task Many_UnorderedArraysAndLists_StayTogether(bool array, int bound)
    {
        const int Each = 500;
        const int Calls = 100;
        IPropagatorBlock<int, int> block = Blocks.Many<int, int>(
            i => array ? Enumerable.Repeat(i, Each).ToArray() : Enumerable.Repeat(i, Each).ToList(),
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 4, EnsureOrdered = false, BoundedCapacity = bound });
        block.PostAll(Enumerable.Range(0, Calls));
        block.Complete();
        List<int> seen = await block.Receivable().ReceiveAllAsync().ToListAsync();

        Assert.Equal(Each * Calls, seen.Count);
        Assert.Equal(Calls - 1, seen.Skip(1).Zip(seen).Count(static p => p.First != p.Second));
    }

    [Fact(Timeout = Limit)]
    public async Task AsyncTransform_OrderedAndFinishedBackwards_ComesOutInOrder()
    {
        TaskCompletionSource<int>[] results = [.. Enumerable.Range(0, 10).Select(static _ => new TaskCompletionSource<int>())];
        IPropagatorBlock<int, int> block =
            Blocks.TransformAsync<int, int>(i => results[i].Task, new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 10 });
        block.PostAll(Enumerable.Range(0, 10));
        for (int i = 9; i > 0; i--)
        {
            results[i].SetResult(i);
        }

        Assert.False(block.Receivable().TryReceive(out _));
        results[0].SetResult(0);
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal(i, await Eventually.Result(block.ReceiveAsync()));
        }

        block.Complete();
        await Eventually.Done(block.Completion);
    }

    [Fact(Timeout = Limit)]
    public async Task AsyncTransform_UnorderedAndFinishedBackwards_ComesOutBackwards()
    {
        TaskCompletionSource<int>[] results = [.. Enumerable.Range(0, 10).Select(static _ => new TaskCompletionSource<int>())];
        IPropagatorBlock<int, int> block = Blocks.TransformAsync<int, int>(
            i => results[i].Task,
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 10, EnsureOrdered = false });
        block.PostAll(Enumerable.Range(0, 10));
        for (int i = 9; i >= 0; i--)
        {
            results[i].SetResult(i);
            Assert.Equal(i, await Eventually.Result(block.ReceiveAsync()));
        }

        block.Complete();
        await Eventually.Done(block.Completion);
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Many_OrderedInParallel_KeepsEachSequenceTogether(bool ordered)
    {
        IPropagatorBlock<int, int> block = Blocks.Many<int, int>(
            static i => Enumerable.Range(i * 10, 5),
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 3, EnsureOrdered = ordered });
        block.PostAll(Enumerable.Range(0, 40));
        block.Complete();
        List<int> seen = await block.Receivable().ReceiveAllAsync().ToListAsync();

        int[] expected = [.. Enumerable.Range(0, 40).SelectMany(static i => Enumerable.Range(i * 10, 5))];
        Assert.Equal(expected, ordered ? seen : seen.Order());
    }

    private static void Hold(string item, Probes.Gate gate)
    {
        if (item == "0")
        {
            gate.Pass();
        }
    }

    private async Task<int> MostAtOnce(BlockKind kind, int degree, int count)
    {
        ConcurrencyProbe probe = new();
        Subject subject = Blocks.Create(kind, new BlockSettings
        {
            Degree = degree,
            Body = _ =>
            {
                using (probe.Enter())
                {
                    Thread.SpinWait(50);
                }
            },
        });
        subject.FeedNumbers(count);
        await End(subject, count);
        return probe.Most;
    }

    private static List<string> Collect(Subject subject, List<string> into)
    {
        while (subject.Take() is { } item)
        {
            into.AddRange(Subject.Strings(item));
        }

        return into;
    }

    private static async Task<string[]> End(Subject subject, int count)
    {
        subject.Block.Complete();
        var taken = new List<string>();
        if (Kinds.HasOutput(subject.Kind))
        {
            Eventually.True(() => Collect(subject, taken).Count >= count);
        }

        await Eventually.Done(subject.Completion);
        return [.. taken];
    }
}
