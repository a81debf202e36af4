using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>A virtual host that is deleted while it is in use does not come back by itself: nothing is repeated for ever.</summary>
public sealed class VirtualHostTests(RabbitServer server) : VirtualHostTest(server)
{
    [Fact(Timeout = 300_000)]
    public async Task VirtualHost_IsDeleted_EndsSourceAndSinkWithOneSentence()
    {
        await using RabbitWorkQueue<string> queue = Queue(null, new UriBuilder(Server.Admin) { Path = VirtualHost }.Uri);
        await queue.SetupAsync();
        await PublishAsync(queue, Values(1));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        WorkBatch<string> batch = await NextAsync(source);
        await Server.CommandAsync("delete_vhost", VirtualHost);
        string expected = $"RabbitMQ refuses the connection for the queue '{Name}': NOT_ALLOWED - vhost {VirtualHost} not found";
        Assert.Equal(expected, (await LastAsync(() => NextAsync(source))).Message);
        Assert.Equal(expected, (await LastAsync(() => sink.WriteAsync(Values(1), null, CancellationToken.None).WithinAsync("publishing"))).Message);
        await source.AcknowledgeAsync([batch], CancellationToken.None);
    }

    /// <summary>What ends a host, which repeats everything else: the connections that were open are closed first, for another reason.</summary>
    private static async Task<WorkSetupException> LastAsync(Func<Task> call)
    {
        while (true)
        {
            Exception e = await Assert.ThrowsAnyAsync<Exception>(call);
            if (e is WorkSetupException last)
            {
                return last;
            }

            Assert.IsNotType<TimeoutException>(e);
        }
    }
}
