namespace Weir.Explore.Tests;

/// <summary>What store buffers allow, and what they do not.</summary>
public class StoreBufferTests
{
    private static readonly ExploreOptions Buffers = new() { StoreBuffers = true };

    private enum Fence
    {
        None,
        Full,
        ProcessWide,
    }

    [Fact]
    public void StoreAndLoad_WithoutAFence_BothSeeNothing()
    {
        Assert.True(Explore.Search(static () => BothSeeNothingAsync(Fence.None, Fence.None)).IsExhausted);
        Assert.Equal(FailureKind.Exception, Explore.Search(static () => BothSeeNothingAsync(Fence.None, Fence.None), Buffers).Failure!.Kind);
        Assert.Equal(FailureKind.Exception, Explore.Search(static () => BothSeeNothingAsync(Fence.Full, Fence.None), Buffers).Failure!.Kind);
    }

    [Fact]
    public void StoreAndLoad_WithFences_OneSeesTheOther()
    {
        Assert.True(Explore.Run(static () => BothSeeNothingAsync(Fence.Full, Fence.Full), Buffers).IsExhausted);
        Assert.True(Explore.Run(static () => BothSeeNothingAsync(Fence.None, Fence.ProcessWide), Buffers).IsExhausted);
    }

    [Fact]
    public void Stores_AreSeenInTheirOrder() => Assert.True(Explore.Run(
        static async () =>
        {
            Two two = new();
            Task writing = Task.Run(() =>
            {
                two.First = 1;
                Volatile.Write(ref two.Second, 1);
                Assert.Equal((1, 1), (two.First, two.Second));
            });
            if (Volatile.Read(ref two.Second) == 1)
            {
                Assert.Equal(1, two.First);
            }

            await writing;
        },
        Buffers).IsExhausted);

    [Fact]
    public void AtomicOperations_SeeWhatComesBefore() => Assert.True(Explore.Run(
        static async () =>
        {
            Two two = new();
            Task other = Task.Run(() => Add(two));
            Add(two);
            await other;
            Assert.Equal(2, two.Second);

            static void Add(Two two)
            {
                two.First = 1;
                Assert.InRange(Interlocked.Increment(ref two.Second), 1, 2);
                Assert.Equal(1, two.First);
            }
        },
        Buffers).IsExhausted);

    private static async Task BothSeeNothingAsync(Fence first, Fence second)
    {
        Two two = new();
        int seen = 0;
        Task other = Task.Run(() =>
        {
            two.First = 1;
            Pass(first);
            Interlocked.Add(ref seen, Volatile.Read(ref two.Second));
        });
        Volatile.Write(ref two.Second, 1);
        Pass(second);
        Interlocked.Add(ref seen, two.First);
        await other;
        Assert.InRange(seen, 1, 2);
    }

    private static void Pass(Fence fence)
    {
        if (fence == Fence.Full)
        {
            Interlocked.MemoryBarrier();
        }
        else if (fence == Fence.ProcessWide)
        {
            Interlocked.MemoryBarrierProcessWide();
        }
    }

    private sealed class Two
    {
        public volatile int First;
        public int Second;
    }
}
