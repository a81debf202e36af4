using System.Buffers;
using System.Runtime.CompilerServices;

namespace Weir.RabbitMQ.Tests.Messages;

/// <summary>The memory of messages that are not confirmed.</summary>
public sealed class MessageBuffersTests
{
    private const int Window = 300;

    private readonly MessageBuffers _buffers = new(new RabbitWorkQueueOptions { ConfirmWindow = Window });

    [Fact]
    public void Pool_OfAWholeWindow_GivesTheSameMemoryAgain()
    {
        ArrayPool<byte> pool = _buffers.Pool;
        byte[][] first = [.. Enumerable.Range(0, Window).Select(_ => pool.Rent(30_000))];
        Array.ForEach(first, array => pool.Return(array));
        HashSet<byte[]> again = [.. Enumerable.Range(0, Window).Select(_ => _buffers.Pool.Rent(30_000))];
        Assert.True(again.SetEquals(first));

        // Until here somebody has it: a collection in between would take it, and the next one would be new.
        GC.KeepAlive(pool);
    }

    [Fact(Timeout = 90_000)]
    public async Task Pool_WhenNoMessageHasIt_IsCollected()
    {
        await Leak.GoneAsync([Use()], "the pool's memory");

        // The next message gets a new one.
        Assert.Equal(1024, _buffers.Pool.Rent(1000).Length);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private WeakReference Use()
    {
        byte[] array = _buffers.Pool.Rent(30_000);
        _buffers.Pool.Return(array);
        return new WeakReference(array);
    }
}
