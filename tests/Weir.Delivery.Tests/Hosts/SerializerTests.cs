using Weir.Runtimes;
using static Weir.Delivery.Tests.Hosts.ListSource;

namespace Weir.Delivery.Tests.Hosts;

/// <summary>A serializer is given once: with the queue, or in the options of a host whose source has none.</summary>
public sealed class SerializerTests
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Host_OfAQueue_WritesDeadLettersWithItsSerializer()
    {
        await using var queue = new MemoryWorkQueue<int>("q", IntSerializer.Instance);
        Assert.Same(IntSerializer.Instance, queue.Serializer);
        await using (IWorkSink<int> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync([new WorkItem<int>(new WorkId("a", 0), 7)], null, CancellationToken.None);
        }

        queue.Complete();
        await using IWorkSource<int> source = await queue.OpenSourceAsync();
        await using var runtime = new DirectRuntime();
        var options = new WorkHostOptions<int> { DeadLetters = queue.DeadLetters, MaxAttempts = 1 };
        await new WorkHost<int>(source, runtime, static (_, _) => throw new TestException("No."), options).RunAsync().WithinAsync();
        Assert.Equal(7, IntSerializer.Instance.Read((await queue.DeadLetters.FindAsync("a/0"))!.Payload.Span));

        // The same one again is no contradiction.
        _ = new WorkHost<int>(source, runtime, static (_, _) => default, options with { Serializer = IntSerializer.Instance });
    }

    [Fact(Timeout = Limit)]
    public async Task Host_OfAQueueWithAnotherSerializer_IsRefused()
    {
        await using var queue = new MemoryWorkQueue<int>("mails", IntSerializer.Instance);
        await using IWorkSource<int> source = await queue.OpenSourceAsync();
        await using var runtime = new DirectRuntime();
        ArgumentException e = Assert.Throws<ArgumentException>(() => new WorkHost<int>(
            source, runtime, static (_, _) => default, new WorkHostOptions<int> { DeadLetters = queue.DeadLetters, Serializer = new Other() }));
        Assert.Equal(
            "Serializer must be left out: the queue 'mails' has a serializer, with which its dead letters are read, and this is another one.",
            e.Message);
    }

    [Fact(Timeout = Limit)]
    public async Task Host_OfASourceWithoutASerializer_NeedsOne()
    {
        await using var source = new ListSource(AcknowledgementOrder.Delivery, Batch(0, 1));
        await using var runtime = new DirectRuntime();
        ArgumentException e = Assert.Throws<ArgumentException>(() => new WorkHost<int>(
            source, runtime, static (_, _) => default, new WorkHostOptions<int> { DeadLetters = new MemoryDeadLetters() }));
        Assert.Equal("Serializer must be set: the source 'list' has none with which dead letters could be written.", e.Message);
    }

    private sealed class Other : IWorkSerializer<int>
    {
        public void Write(int value, System.Buffers.IBufferWriter<byte> output) => IntSerializer.Instance.Write(value, output);

        public int Read(ReadOnlySpan<byte> bytes) => IntSerializer.Instance.Read(bytes);
    }
}
