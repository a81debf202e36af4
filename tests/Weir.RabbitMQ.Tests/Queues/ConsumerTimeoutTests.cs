using System.Collections.Concurrent;
using System.Globalization;
using Weir.RabbitMQ.Tests.Servers;
using Weir.Runtimes;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Items that take longer than the broker waits. The broker's limit is short for a channel that is opened then, and for no other test.</summary>
[Collection(nameof(ConsumerTimeoutTests))]
[CollectionDefinition(nameof(ConsumerTimeoutTests), DisableParallelization = true)]
public sealed class ConsumerTimeoutTests(RabbitServer server) : QueueTest(server), IAsyncLifetime
{
    private const int Usual = 1_800_000;

    // A test starts up to ten commands of the broker, each of which starts a machine of Erlang's.
    private const int LimitOfCommands = 300_000;

    private readonly ManualTimeProvider _clock = new();
    private bool _isShort;

    public ValueTask InitializeAsync() => ValueTask.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        if (_isShort)
        {
            await SetLimitAsync(Usual);
        }
    }

    [Fact(Timeout = LimitOfCommands)]
    public async Task Host_TheBrokerTakesALongItemAwayAgainAndAgain_RunsItOnceAndSaysWhy()
    {
        // At a clock that stands still, nothing is given back before.
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = _clock });
        await PublishAsync(queue, Values(1));
        await SetLimitAsync(1000);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        var end = new Gate();
        var faults = new ConcurrentQueue<Exception>();
        int calls = 0;
        await using var workers = new ConcurrentRuntime(4);
        using var stop = new CancellationTokenSource();
        var host = new WorkHost<string>(
            source,
            workers,
            async (_, _) =>
            {
                Interlocked.Increment(ref calls);
                await end.WaitAsync();
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text, OnFault = faults.Enqueue });
        Task running = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => Volatile.Read(ref calls) == 1, "The item");
        for (int round = 1; round <= 4; round++)
        {
            ConsumerLink link = ((RabbitWorkSource<string>)source).Link()!;
            await TickAsync();
            await Guard.UntilAsync(() => !link.IsOpen, "The end of the channel");

            await Guard.UntilAsync(() => faults.Count >= round && ((RabbitWorkSource<string>)source).AwayCount == 0, "The next delivery");
        }

        end.Open();
        await Guard.UntilAsync(() => host.Statistics is { Succeeded: 1, InFlight: 0 }, "The acknowledgement");
        await stop.CancelAsync();
        await running.WithinAsync("the host");
        await source.DisposeAsync();
        Assert.Equal(1, calls);
        Assert.Equal((0u, 0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects), await CountAsync(queue.Names.Dead)));
        Assert.All(faults, fault => Assert.StartsWith(
            $"RabbitMQ took the messages of a source of the queue '{Name}' away, because one was not acknowledged within 00:00:01 (consumer_timeout); "
            + "no process died and nothing is lost, but items may run twice: publish fewer items in a message (MaxItemsPerMessage), lower Prefetch",
            Assert.IsType<TimeoutException>(fault).Message,
            StringComparison.Ordinal));
    }

    [Fact(Timeout = LimitOfCommands)]
    public async Task Source_TheBrokerTakesMessagesAway_ThoseThatWaitAndThoseThatAreDoneAreNotSuspect()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerMessage = 1 });
        await PublishAsync(queue, Values(4));
        await SetLimitAsync(1000);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();

        WorkBatch<string> done = await NextAsync(source);
        WorkBatch<string> running = await NextAsync(source);
        ConsumerLink link = ((RabbitWorkSource<string>)source).Link()!;
        await SetLimitAsync(Usual);
        await TickAsync();
        await Guard.UntilAsync(() => !link.IsOpen, "The end of the channel");

        await source.AcknowledgeAsync([done], CancellationToken.None);
        await Assert.ThrowsAsync<TimeoutException>(() => NextAsync(source));
        HashSet<string> left = ["0", "2", "3"];
        while (left.Count > 0)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal((false, 0, true), (batch.IsSuspect, batch.Crashes, left.Remove(batch.Items[0].Value)));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        await Guard.UntilAsync(() => ((RabbitWorkSource<string>)source).AwayCount == 0, "The delivery of what is running");
        await source.AcknowledgeAsync([running], CancellationToken.None);
        await source.DisposeAsync();
        Assert.Equal((0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects)));
    }

    [Fact(Timeout = Limit)]
    public async Task Source_ItemsOfSeconds_HoldsNoMoreThanItAcknowledgesInTime()
    {
        const int Messages = 48;
        var message = TimeSpan.FromSeconds(256 * 3.5 / 16);
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = _clock });
        await PublishAsync(queue, Values(Messages * 256));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Queue<RabbitBatch<string>> open = new();
        Task<WorkBatch<string>>? reading = null;
        HashSet<string> done = [];
        TimeSpan longest = TimeSpan.Zero;
        int most = 0;
        while (done.Count < Messages * 256)
        {
            // A host at a concurrency of 16, with its default of items in flight.
            while (open.Sum(static b => b.Items.Count) < 4096)
            {
                reading ??= NextAsync(source);
                await Guard.SettleAsync();

                // The first two messages come in any case, however long the broker takes for them.
                if (!reading.IsCompleted && open.Count > (done.Count == 0 ? 1 : 0))
                {
                    break;
                }

                open.Enqueue((RabbitBatch<string>)await reading);
                reading = null;
            }

            most = Math.Max(most, open.Count);
            _clock.Advance(message);
            RabbitBatch<string> oldest = open.Dequeue();
            TimeSpan age = _clock.GetElapsedTime(oldest.ReceivedAt);
            longest = age > longest ? age : longest;
            done.UnionWith(ValuesOf(oldest));
            await source.AcknowledgeAsync([oldest], CancellationToken.None);
        }

        await source.DisposeAsync();
        Assert.Equal((0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects)));
        Assert.InRange(longest, message, TimeSpan.FromMinutes(27));
        Assert.InRange(most, 2, 16);
    }

    [Fact(Timeout = Limit)]
    public async Task Source_AMessageRunsForAlmostTheLimit_ACopyIsNoSuspectAndIsNotRunTwiceHere()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = _clock, Prefetch = 1 });
        await PublishAsync(queue, Values(3));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        var batch = (RabbitBatch<string>)await NextAsync(source);
        Task<WorkBatch<string>> next = NextAsync(source);
        for (int round = 0; round < 3; round++)
        {
            ulong tag = batch.Tag;
            _clock.Advance(TimeSpan.FromMinutes(28));
            TimeoutException notice = await Assert.ThrowsAsync<TimeoutException>(() => next);
            Assert.StartsWith(
                $"A source of the queue '{Name}' gave back 1 messages after 00:27:00, and RabbitMQ waits for 00:30:00 (consumer_timeout)",
                notice.Message,
                StringComparison.Ordinal);
            next = NextAsync(source);

            // A source that is not through with this copy looks for no other, and the clock moves only once.
            await Guard.UntilAsync(() => !batch.IsAway && batch.Tag != tag && !((RabbitWorkSource<string>)source).IsRenewing, "The copy");
        }

        await source.AcknowledgeAsync([batch], CancellationToken.None);
        await PublishAsync(queue, [WorkItem.Create("last")]);
        WorkBatch<string> last = await next;
        Assert.Equal(["last"], ValuesOf(last));

        // Another process has nothing of what is running: it runs the items, and counts no crash. It gets the copy, because this one is full.
        await using RabbitWorkQueue<string> other = Queue();
        await using IWorkSource<string> others = await other.OpenSourceAsync();
        _clock.Advance(TimeSpan.FromMinutes(28));
        WorkBatch<string> copy = await NextAsync(others);
        Assert.Equal(("last", false, 0), (copy.Items[0].Value, copy.IsSuspect, copy.Crashes));
        await source.AcknowledgeAsync([last], CancellationToken.None);
        await others.AcknowledgeAsync([copy], CancellationToken.None);
        await others.DisposeAsync();
        await source.DisposeAsync();
        Assert.Equal((0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects)));
    }

    [Fact(Timeout = Limit)]
    public async Task Source_AMessageCannotBeWrittenAgain_TheOthersAreGivenBackAndOneSentenceSaysSo()
    {
        var serializer = new FailingSerializer("1");
        RabbitWorkQueueOptions options = Options with { TimeProvider = _clock, Prefetch = 3, MaxItemsPerMessage = 1 };
        await using (RabbitWorkQueue<string> setup = new(Server.Admin, Name, WorkSerializer.Text, options))
        {
            await setup.SetupAsync();
            await PublishAsync(setup, Values(3));
        }

        await using RabbitWorkQueue<string> queue = new(Server.Worker, Name, serializer, options);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        RabbitBatch<string>[] batches = new RabbitBatch<string>[3];
        for (int i = 0; i < 3; i++)
        {
            batches[i] = (RabbitBatch<string>)await NextAsync(source);
        }

        ulong[] tags = [.. batches.Select(static b => b.Tag)];
        _clock.Advance(TimeSpan.FromMinutes(28));
        await Guard.UntilAsync(() => !((RabbitWorkSource<string>)source).IsRenewing, "The copies");

        // Nobody has read meanwhile, and each of the two sentences is heard.
        foreach (string notice in new[] { "runs for longer than RabbitMQ waits, and cannot be published again", "gave back 2 messages after 00:27:00" })
        {
            TimeoutException heard = await Assert.ThrowsAsync<TimeoutException>(() => NextAsync(source));
            Assert.Contains(notice, heard.Message, StringComparison.Ordinal);
        }

        Task<WorkBatch<string>> next = NextAsync(source);
        await Guard.UntilAsync(() => Renewed() == 2, "The delivery of the copies");
        Assert.Equal(1, serializer.Failures);
        Assert.Equal((tags[1], false), (batches[1].Tag, batches[1].IsAway));
        await source.AcknowledgeAsync(batches, CancellationToken.None);
        await source.DisposeAsync();
        await Assert.ThrowsAnyAsync<Exception>(() => next);
        Assert.Equal((0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects)));

        int Renewed() => new[] { 0, 2 }.Count(i => !batches[i].IsAway && batches[i].Tag != tags[i]);
    }

    private sealed class FailingSerializer(string unwritable) : IWorkSerializer<string>
    {
        private int _failures;

        public int Failures => Volatile.Read(ref _failures);

        public void Write(string value, System.Buffers.IBufferWriter<byte> output)
        {
            if (value == unwritable)
            {
                Interlocked.Increment(ref _failures);
                throw new TestException("No.");
            }

            WorkSerializer.Text.Write(value, output);
        }

        public string Read(ReadOnlySpan<byte> bytes) => WorkSerializer.Text.Read(bytes);
    }

    // The channels that are opened while it is short look at the time only when they are told to.
    private async Task SetLimitAsync(int milliseconds)
    {
        int interval = milliseconds == Usual ? 60_000 : 86_400_000;
        await Server.CommandAsync("eval", string.Create(
            CultureInfo.InvariantCulture,
            $"application:set_env(rabbit, consumer_timeout, {milliseconds}), application:set_env(rabbit, channel_tick_interval, {interval})."));
        _isShort = milliseconds != Usual;
    }

    /// <summary>
    /// Lets the channels that consume from the queue look at the time, once, when what they have delivered is older than the short limit. A second look might
    /// be one of the next channel.
    /// </summary>
    private Task TickAsync() => Server.CommandAsync(
        "eval",
        $"timer:sleep(2000), {{ok, Q}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"{Name}\">>)), "
            + "[element(1, C) ! tick || C <- rabbit_amqqueue:consumers(Q)].");
}
