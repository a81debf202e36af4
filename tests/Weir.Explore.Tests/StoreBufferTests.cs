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

    /// <summary>The other's store to z, and its lock, are no fence of this thread.</summary>
    [Fact]
    public void Stores_OfAnother_EmptyNoBuffer() => Assert.Equal(FailureKind.Exception, Explore.Search(
        static async () =>
        {
            Two two = new();
            int z = 0;
            Task<int> other = Task.Run(() =>
            {
                two.First = 1;
                Volatile.Write(ref z, 1);
                return Volatile.Read(ref two.Second);
            });
            lock (new object())
            {
                Volatile.Write(ref two.Second, 1);
            }

            Volatile.Write(ref two.Second, 2);
            Volatile.Write(ref z, 2);
            Assert.NotEqual((0, 0), (two.First, await other));
        },
        Buffers).Failure?.Kind);

    /// <summary>What a thread has stored first comes to memory last, over what the other one has stored there in between.</summary>
    [Fact]
    public void Store_ThatWaits_ComesOverALaterOne() => Assert.Equal(FailureKind.Exception, Explore.Search(
        static async () =>
        {
            Two two = new();
            Task<int> other = Task.Run(() =>
            {
                two.First = 1;
                return Volatile.Read(ref two.Second);
            });
            Interlocked.Exchange(ref two.Second, 1);
            Interlocked.Exchange(ref two.First, 2);
            Assert.NotEqual((0, 1), (await other, two.First));
        },
        Buffers).Failure?.Kind);

    [Fact]
    public void Stores_InElements_WaitTooAndAreSeenByTheirThread()
    {
        Assert.Equal(FailureKind.Exception, Explore.Search(static () => SlotsAsync(Fence.None), Buffers).Failure?.Kind);
        Assert.True(Explore.Run(static () => SlotsAsync(Fence.ProcessWide), Buffers).IsExhausted);
    }

    private static async Task SlotsAsync(Fence fence)
    {
        (int Value, int State)[] slots = new (int, int)[3];
        Two two = new();
        Task<int> other = Task.Run(() =>
        {
            ref (int Value, int State) slot = ref slots[1];
            slot.Value = 5;
            Volatile.Write(ref slot.State, 1);
            Assert.Equal((5, 1), (slots[1].Value, slots[1].State));
            return two.First;
        });
        two.First = 1;
        Interlocked.MemoryBarrier();
        Pass(fence);
        int state = Volatile.Read(ref slots[1].State);
        Assert.NotEqual((0, 0), (state, await other));
    }

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
