using System.Text.RegularExpressions;
using RabbitMQ.Client;
using RabbitMQ.Client.Exceptions;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Setting up, and what must match.</summary>
public sealed class SetupTests(RabbitServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Open_NotSetUp_SaysWhatToDo()
    {
        await using RabbitWorkQueue<string> queue = Queue();
        await RefusedAsync("SetupAsync", async () => await queue.OpenSourceAsync());
        await RefusedAsync("SetupAsync", async () => await queue.OpenSinkAsync());
        await RefusedAsync("right", () => queue.SetupAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Setup_OfAll_CanBeRepeatedAndRunAtOnce()
    {
        await using RabbitWorkQueue<string> queue = Queue(broker: Server.Admin);
        await Task.WhenAll(Enumerable.Range(0, 3).Select(_ => queue.SetupAsync()));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
    }

    [Theory(Timeout = Limit)]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Open_WithOtherOptions_SaysWhichAreMeant(int what)
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync();
        Func<RabbitWorkQueueOptions, RabbitWorkQueueOptions> change = what switch
        {
            0 => static o => o with { Partitions = 2 },
            1 => static o => o with { DeliveryLimit = 7 },
            _ => static o => o with { RetryDelays = [TimeSpan.FromMilliseconds(1), TimeSpan.FromSeconds(9)] },
        };
        await using RabbitWorkQueue<string> setup = Queue(change, Server.Admin);
        WorkSetupException refused = await Assert.ThrowsAsync<WorkSetupException>(() => setup.SetupAsync());
        Assert.Contains(setup.Names.Described, refused.Message, StringComparison.Ordinal);
        await using RabbitWorkQueue<string> other = Queue(change);
        refused = await Assert.ThrowsAsync<WorkSetupException>(async () => await other.OpenSourceAsync());
        Assert.Contains(setup.Names.Described, refused.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<WorkSetupException>(async () => await other.OpenSinkAsync());
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Write_TheQueueIsGone_SaysWhatToDo()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync();
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await AsAdminAsync(channel => channel.QueueDeleteAsync(Name, ifUnused: false, ifEmpty: false));
        await RefusedAsync("SetupAsync", async () => await sink.WriteAsync(Values(3), null, CancellationToken.None));
        await AsAdminAsync(async channel =>
        {
            await channel.ExchangeDeleteAsync(Name);
            return true;
        });
        await Assert.ThrowsAsync<WorkSetupException>(async () => await sink.WriteAsync(Values(3), null, CancellationToken.None));
    }

    [Fact(Timeout = Limit)]
    public async Task Names_AndExceptions_HaveNoPassword()
    {
        var wrong = new UriBuilder(Server.Worker) { Password = "sesame-7" };
        await using RabbitWorkQueue<string> queue = Queue(broker: wrong.Uri);
        WorkSetupException refused = await Assert.ThrowsAsync<WorkSetupException>(() => queue.SetupAsync());
        var nowhere = new UriBuilder(wrong.Uri) { Port = 1 };
        await using RabbitWorkQueue<string> away = Queue(static o => o with { ReconnectTimeout = TimeSpan.FromMilliseconds(1) }, nowhere.Uri);
        Exception failed = await Assert.ThrowsAnyAsync<Exception>(async () => await away.OpenSourceAsync());
        Exception notPublished = await Assert.ThrowsAnyAsync<Exception>(async () => await away.OpenSinkAsync());
        Exception scheme = Assert.Throws<ArgumentException>(() => Queue(broker: new Uri("http://worker:sesame-7@localhost/")));
        Exception colons = Assert.Throws<ArgumentException>(() => Queue(broker: new Uri("amqp://worker:sesame-7:x@localhost/")));
        Exception path = Assert.Throws<ArgumentException>(() => Queue(broker: new Uri("amqp://worker:sesame-7@localhost/a/b")));
        string[] texts =
        [
            $"{colons}", $"{path}", $"{refused}", $"{failed}", $"{notPublished}", $"{scheme}", $"{queue}", $"{queue.Options}", $"{queue.DeadLetters}",
            queue.Name, queue.Broker.What,
        ];
        Assert.All(texts, static t => Assert.DoesNotContain("sesame-7", t, StringComparison.Ordinal));
    }

    [Fact]
    public void Options_OutOfRange_AreRefusedWithTheirName()
    {
        (string Name, Func<RabbitWorkQueueOptions, RabbitWorkQueueOptions> Change)[] wrong =
        [
            (nameof(RabbitWorkQueueOptions.MaxItemsPerMessage), static o => o with { MaxItemsPerMessage = 0 }),
            (nameof(RabbitWorkQueueOptions.MaxMessageBytes), static o => o with { MaxMessageBytes = 1023 }),
            (nameof(RabbitWorkQueueOptions.MaxItemBytes), static o => o with { MaxItemBytes = 0 }),
            (nameof(RabbitWorkQueueOptions.ConfirmWindow), static o => o with { ConfirmWindow = 0 }),
            (nameof(RabbitWorkQueueOptions.Prefetch), static o => o with { Prefetch = 2001 }),
            (nameof(RabbitWorkQueueOptions.Partitions), static o => o with { Partitions = 257 }),
            (nameof(RabbitWorkQueueOptions.DeliveryLimit), static o => o with { DeliveryLimit = 4 }),
            (nameof(RabbitWorkQueueOptions.MaxMessages), static o => o with { MaxMessages = 0 }),
            (nameof(RabbitWorkQueueOptions.ReconnectTimeout), static o => o with { ReconnectTimeout = TimeSpan.Zero }),
            (nameof(RabbitWorkQueueOptions.RetryDelays), static o => o with { RetryDelays = [] }),
            (nameof(RabbitWorkQueueOptions.RetryDelays), static o => o with { RetryDelays = [TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(1)] }),
        ];
        var broker = new Uri("amqp://localhost/");
        Assert.All(wrong, w => Assert.Equal(
            w.Name,
            Assert.ThrowsAny<ArgumentException>(() => new RabbitWorkQueue<string>(broker, "a", WorkSerializer.Text, w.Change(new()))).ParamName));
        foreach (string name in new[] { "", "amq.x", "\uD800", new string('x', 121), "mails\n", "a\rb" })
        {
            Assert.ThrowsAny<ArgumentException>(() => new RabbitWorkQueue<string>(broker, name, WorkSerializer.Text));
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Setup_ThatFails_LeavesNothing()
    {
        // A queue of somebody else has the name of one of these.
        string theirs = $"{Name}.retry.1";
        await AsAdminAsync(channel => channel.QueueDeclareAsync(theirs, durable: true, exclusive: false, autoDelete: false));
        await using RabbitWorkQueue<string> queue = Queue(broker: Server.Admin);
        await RefusedAsync("other options", () => queue.SetupAsync());
        Assert.Equal(0u, await CountAsync(theirs));
        await MissingAsync(channel => channel.QueueDeclarePassiveAsync(Name));
        await MissingAsync(async channel =>
        {
            await channel.ExchangeDeclarePassiveAsync(Name);
            return true;
        });

        // And so it can be set up in another way when the reason is gone.
        await AsAdminAsync(channel => channel.QueueDeleteAsync(theirs));
        await using RabbitWorkQueue<string> other = Queue(static o => o with { DeliveryLimit = 7 }, Server.Admin);
        await other.SetupAsync();

        async Task MissingAsync<T>(Func<IChannel, Task<T>> look) => Assert.Equal(
            404, (await Assert.ThrowsAsync<OperationInterruptedException>(() => AsAdminAsync(look))).ShutdownReason!.ReplyCode);
    }

    [Fact(Timeout = Limit)]
    public async Task User_WithTheRightsOfThePage_CanDoEverythingButSetUp()
    {
        string page = await File.ReadAllTextAsync(Path.Combine(Repository.Root, "docs", "reference", "rabbitmq.md"), TestContext.Current.CancellationToken);
        string line = page.Split('\n').Single(static l => l.StartsWith("rabbitmqctl set_permissions worker ", StringComparison.Ordinal));
        string[] rights = [.. line.Split('\'').Where(static (_, i) => i % 2 == 1).Select(r => r.Replace("mails", Regex.Escape(Name), StringComparison.Ordinal))];
        Assert.Equal(3, rights.Length);
        string user = $"least-{Guid.NewGuid():N}";
        await using RabbitWorkQueue<string> setup = await NewQueueAsync();
        await Server.CommandAsync("add_user", user, "sesame-7");
        try
        {
            await Server.CommandAsync(["set_permissions", user, .. rights]);
            Uri address = new UriBuilder(Server.Admin) { UserName = user, Password = "sesame-7" }.Uri;
            await using RabbitWorkQueue<string> queue = Queue(broker: address);
            await RefusedAsync("right", () => queue.SetupAsync());
            await PublishAsync(queue, Values(10));
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            WorkBatch<string> batch = await NextAsync(source);
            await source.Redelivery!.RedeliverAsync(batch, [batch.Items[0].Again()], TimeSpan.FromMilliseconds(1), CancellationToken.None);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
            WorkBatch<string> again = await NextAsync(source);
            Assert.Equal(2, again.Items.Single().Attempt);
            await source.ReturnAsync([again], CancellationToken.None);
            await source.AcknowledgeAsync([await NextAsync(source)], CancellationToken.None);
            await queue.DeadLetters.AddAsync(
                [new DeadLetter { Id = "a/1", Source = "a", Reason = DeadLetterReason.Failed, Time = DateTimeOffset.UnixEpoch, Payload = new byte[1] }]);
            Assert.Single(await LettersAsync(queue));
            Assert.Equal(1, await queue.DeadLetters.ReplayAsync(["a/1"]));
            _ = await queue.GetStatisticsAsync();
        }
        finally
        {
            await Server.CommandAsync("delete_user", user);
        }
    }

    [Fact]
    public void Options_RetryDelays_AreThoseThatAHostAsksFor() => Assert.Equal(
        new WorkHostOptions<string> { DeadLetters = new MemoryDeadLetters() }.RedeliveryDelays, new RabbitWorkQueueOptions().RetryDelays);

    private static async Task RefusedAsync(string part, Func<Task> call) =>
        Assert.Contains(part, (await Assert.ThrowsAsync<WorkSetupException>(call)).Message, StringComparison.Ordinal);
}
