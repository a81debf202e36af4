using System.Buffers;
using System.Text;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Messages that nobody can read or survive: they become dead letters, and everything else goes on.</summary>
public sealed class PoisonTests(RabbitServer server) : QueueTest(server)
{
    [Theory(Timeout = Limit)]
    [InlineData(8, 5)]
    [InlineData(1, 0)]
    public async Task Source_AnItemKillsItsProcess_IsFoundByHalvesAndAlone(int count, int poison)
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync();
        await PublishAsync(queue, Values(count));
        HashSet<string> left = [.. Values(count).Select(static i => i.Value)];
        int crashes = 0;
        IWorkSource<string> source = await queue.OpenSourceAsync();
        while (left.Count > 0)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal(crashes > 0, batch.IsSuspect);
            bool isPoison = ValuesOf(batch).Contains($"{poison}");
            if (isPoison && !(batch.Items.Count == 1 && batch.Crashes >= 2))
            {
                crashes++;
                await CutAsync(source);
                source = await queue.OpenSourceAsync();
                continue;
            }

            left.ExceptWith(ValuesOf(batch));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        await source.DisposeAsync();
        Assert.InRange(crashes, 1, Math.Max(3, (int)Math.Log2(count) + 2));
        Assert.Equal((0u, 0u), (await CountAsync(Name), await CountAsync(queue.Names.Suspects)));
    }

    [Fact(Timeout = Limit)]
    public async Task Suspects_Returned_DoNotCountAsCrashes()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync();
        await PublishAsync(queue, Values(1));
        for (int round = 0; round < 4; round++)
        {
            IWorkSource<string> source = await queue.OpenSourceAsync();
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal((round > 0, Math.Max(0, round - 1)), (batch.IsSuspect, batch.Crashes));
            await source.ReturnAsync([batch], CancellationToken.None);
            batch = await NextAsync(source);
            Assert.Equal((round > 0, Math.Max(0, round - 1)), (batch.IsSuspect, batch.Crashes));
            if (round == 1)
            {
                await source.DisposeAsync();
                source = await queue.OpenSourceAsync();
                batch = await NextAsync(source);
                Assert.Equal((true, 0), (batch.IsSuspect, batch.Crashes));
            }

            await CutAsync(source);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Messages_ThatCannotBeRead_AreDeadLettersAndTheOthersGoOn()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemBytes = 1000, MaxMessageBytes = 1024 });
        await PublishRawAsync(Name, "nonsense"u8.ToArray(), "garbage");
        await PublishRawAsync(Name, new byte[100_000], "large");
        await PublishRawAsync(Name, [EnvelopeFormat.Mark, EnvelopeFormat.Version, 1, 0, 0, 0, 2, 0, 0], "torn");
        await PublishRawAsync(queue.Names.Dead, "somebody else's"u8.ToArray(), "else");
        var writer = new EnvelopeWriter(ArrayPool<byte>.Shared);
        writer.Add(new WorkId("mixed", 0), null, 1, null, "good"u8);
        writer.Add(new WorkId("mixed", 1), "k", 2, null, [0xff]);
        (byte[] buffer, int length, _, string id) = writer.Take();
        await PublishRawAsync(Name, buffer[..length], id);
        await PublishAsync(queue, Values(2));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(["good"], ValuesOf(await NextAsync(source)));
        Assert.Equal(["0", "1"], ValuesOf(await NextAsync(source)));
        List<DeadLetter> letters = [];
        while (letters.Count < 5)
        {
            letters = await LettersAsync(queue);
        }

        Assert.Equal(
            [
                ("message else", DeadLetterReason.Undecodable), ("message garbage", DeadLetterReason.Undecodable), ("message large", DeadLetterReason.TooLarge),
                ("message torn", DeadLetterReason.Undecodable), ("mixed/1", DeadLetterReason.Undecodable),
            ],
            letters.Select(static l => (l.Id, l.Reason)).OrderBy(static l => l.Id, StringComparer.Ordinal));
        Assert.Equal("nonsense", Encoding.UTF8.GetString(letters.Single(static l => l.Id == "message garbage").Payload.Span));
        Assert.Equal((2, "k"), letters.Where(static l => l.Id == "mixed/1").Select(static l => (l.Attempts, l.Key!)).Single());

        // What is replayed comes as it was, and so ends as it did.
        Assert.Equal(1, await queue.DeadLetters.ReplayAsync(["message garbage"]));
        Task<WorkBatch<string>> next = NextAsync(source);
        while (await queue.DeadLetters.FindAsync("message garbage") is null)
        {
            await Guard.PauseAsync();
        }

        Assert.Equal(5, await queue.DeadLetters.RemoveAsync([.. letters.Select(static l => l.Id)]));
        await PublishAsync(queue, [WorkItem.Create("last")]);
        Assert.Equal(["last"], ValuesOf(await next));
    }

    [Fact(Timeout = Limit)]
    public async Task DeadLetters_SeveralLookAtOnce_EachSeesAll()
    {
        await using RabbitWorkQueue<string> queue = await NewQueueAsync();
        await queue.DeadLetters.AddAsync([.. Enumerable.Range(0, 30).Select(static i => new DeadLetter
        {
            Id = $"a/{i % 25}",
            Source = "a",
            Reason = DeadLetterReason.Failed,
            Error = new string('e', 200_000),
            Time = DateTimeOffset.UnixEpoch.AddSeconds(i),
            Payload = Encoding.UTF8.GetBytes($"{i}"),
        })]);
        List<DeadLetter>[] looks = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => LettersAsync(queue)));
        Assert.All(looks, static l => Assert.Equal(Enumerable.Range(5, 25), l.Select(static d => int.Parse(Encoding.UTF8.GetString(d.Payload.Span), null))));
        List<DeadLetter> oldest = [];
        await foreach (DeadLetter letter in queue.DeadLetters.ListAsync(3))
        {
            oldest.Add(letter);
        }

        Assert.Equal(["a/5", "a/6", "a/7"], oldest.Select(static d => d.Id));
        Assert.Equal(2, await queue.DeadLetters.RemoveAsync(["a/0", "a/24"]));
        Assert.Equal(23, (await LettersAsync(queue)).Count);
    }
}
