using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Results of a host whose sink is a queue, which the queue can never store.</summary>
public sealed class RefusedItemTests(PostgresServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Host_ResultsCannotBeStored_TheyAreDeadLettersAndTheHostGoesOn()
    {
        var source = new MemoryWorkQueue<string>("in", WorkSerializer.Text);
        await using PostgresWorkQueue<string> target = new(
            Source, "work", new StubbornSerializer(), Options with { MaxItemBytes = 10 });
        await target.SetupAsync();
        await using (IWorkSink<string> sink = await source.OpenSinkAsync())
        {
            await sink.WriteAsync(
                [
                    .. Values(3),
                    new(new WorkId("long", 0), "more than ten bytes"),
                    new(new WorkId("key", 0), "x", "a\0"),
                    new(new WorkId("never", 0), "never"),
                ],
                null,
                CancellationToken.None);
        }

        source.Complete();
        await using IWorkSource<string> items = await source.OpenSourceAsync();
        await using IWorkSink<string> results = await target.OpenSinkAsync();
        await using var runtime = new ConcurrentRuntime(2);
        WorkHost<string> host = WorkHost.Create(
            items,
            runtime,
            static (item, _) => new ValueTask<string>(item.Value),
            results,
            new WorkHostOptions<string> { DeadLetters = source.DeadLetters, Serializer = WorkSerializer.Text });
        await host.RunAsync().WithinAsync("the host");
        Assert.Equal((WorkHostState.Stopped, 3, 0), (host.Statistics.State, host.Statistics.DeadLettered, host.Statistics.Faults));
        Assert.Equal(3, await CountAsync());
        Assert.Equal(
            [DeadLetterReason.TooLarge, DeadLetterReason.Rejected, DeadLetterReason.Rejected],
            new[] { "long/0", "key/0", "never/0" }.Select(id => source.DeadLetters.FindAsync(id).AsTask().Result!.Reason));
    }

    private sealed class StubbornSerializer : IWorkSerializer<string>
    {
        public void Write(string value, System.Buffers.IBufferWriter<byte> output)
        {
            if (value == "never")
            {
                throw new NotSupportedException("Not this one.");
            }

            WorkSerializer.Text.Write(value, output);
        }

        public string Read(ReadOnlySpan<byte> bytes) => WorkSerializer.Text.Read(bytes);
    }
}
