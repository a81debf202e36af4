using System.Buffers;
using System.Globalization;
using System.Text;

namespace Weir.RabbitMQ.Tests.Messages;

/// <summary>The body of a message: what is written is read, and whatever else is read is refused.</summary>
public sealed class EnvelopeTests
{
    private static readonly Dictionary<string, string> NoHeaders = [];

    private sealed record Item(WorkId Id, string? Key, int Attempt, IReadOnlyDictionary<string, string>? Headers, byte[] Value);

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Read_WhatWasWritten_IsTheSame(int seed)
    {
        var random = new Random(seed);
        for (int round = 0; round < 200; round++)
        {
            Item[] items = [.. Enumerable.Range(0, random.Next(1, 40)).Select(i => NewItem(random, i))];
            Assert.Equal(items.Select(Show), Read(Write(items)).Select(Show));
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public void Read_AnyBytes_AreItemsOrRefused(int seed)
    {
        var random = new Random(seed);
        int refused = 0;
        for (int round = 0; round < 2000; round++)
        {
            byte[] body = Write([.. Enumerable.Range(0, random.Next(1, 8)).Select(i => NewItem(random, i))]);
            switch (round % 4)
            {
                case 0:
                    random.NextBytes(body = new byte[random.Next(200)]);
                    break;
                case 1:
                    // A header that is right, with anything behind it.
                    random.NextBytes(body.AsSpan(random.Next(2, body.Length)));
                    break;
                case 2:
                    for (int flips = random.Next(1, 5); flips > 0; flips--)
                    {
                        body[random.Next(body.Length)] ^= (byte)(1 << random.Next(8));
                    }

                    break;
                default:
                    body = body[..random.Next(body.Length)];
                    break;
            }

            try
            {
                long bytes = Read(body).Sum(static i => (long)i.Value.Length);
                Assert.InRange(bytes, 0, body.Length);
            }
            catch (FormatException e)
            {
                refused++;
                Assert.NotEmpty(e.Message);
            }
        }

        Assert.InRange(refused, 1000, 2000);
    }

    [Fact]
    public void Read_EachTruncation_IsRefused()
    {
        var random = new Random(5);
        byte[] body = Write([.. Enumerable.Range(0, 20).Select(i => NewItem(random, i))]);
        for (int length = 0; length < body.Length; length++)
        {
            byte[] part = body[..length];
            Assert.Throws<FormatException>(() => Read(part));
        }

        Assert.Throws<FormatException>(() => Read([.. body, 0]));
    }

    [Fact]
    public void Read_NegativePlace_IsRefused()
    {
        foreach (WorkId[] ids in new WorkId[][] { [new("origin", -1)], [new("origin", int.MaxValue), new("origin", int.MinValue)] })
        {
            byte[] body = Write(ids.Select(static id => new Item(id, null, 1, null, [])));
            Assert.Contains("place", Assert.Throws<FormatException>(() => Read(body)).Message, StringComparison.Ordinal);
        }

        WorkItem<byte[]>[] items = [new(new WorkId("origin", -1), [])];
        var messages = new ItemMessages<byte[]>(WorkSerializer.Bytes, new RabbitWorkQueueOptions(), ArrayPool<byte>.Shared);
        WorkRefusedException refused = Assert.Throws<WorkRefusedException>(() => messages.Split(items, static _ => "route", null, isNew: true).Count());
        Assert.Contains("must be 0 or more", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Read_AnotherVersionOrFarTooManyItems_IsRefusedAtOnce()
    {
        byte[] body = Write([NewItem(new Random(1), 0)]);
        body[1] = 2;
        Assert.Contains("version 2", Assert.Throws<FormatException>(() => Read(body)).Message, StringComparison.Ordinal);
        Assert.Throws<FormatException>(() => Read([EnvelopeFormat.Mark, EnvelopeFormat.Version, 255, 255, 255, 127, 0, 0]));
        Assert.Throws<FormatException>(() => Read([EnvelopeFormat.Mark, EnvelopeFormat.Version, 255, 255, 255, 255, 0, 0]));
        Assert.Contains("Weir", Assert.Throws<FormatException>(() => Read("{}"u8.ToArray())).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Split_ManyItems_HasTheLimitsOfTheOptions()
    {
        var options = new RabbitWorkQueueOptions { MaxItemsPerMessage = 100, MaxMessageBytes = 4096, MaxItemBytes = 10_000 };
        var random = new Random(3);
        WorkItem<byte[]>[] items =
            [.. Enumerable.Range(0, 1000).Select(i => new WorkItem<byte[]>(new WorkId("a", i), new byte[random.Next(20) == 0 ? 5000 : random.Next(99)]))];
        List<Outgoing> messages =
            [
                .. new ItemMessages<byte[]>(WorkSerializer.Bytes, options, ArrayPool<byte>.Shared)
                    .Split(items, static i => i.Id.Index % 2 == 0 ? "even" : "odd", null, isNew: true),
            ];
        List<Item>[] read = [.. messages.Select(static m => Read(m.Body.ToArray()))];
        Assert.All(read, static r => Assert.InRange(r.Count, 1, 100));
        Assert.All(messages, static m => Assert.True(m.Body.Length <= 4096 || Read(m.Body.ToArray()).Count == 1));
        foreach (string route in new[] { "even", "odd" })
        {
            int[] indices = [.. read.Where((_, i) => messages[i].RoutingKey == route).SelectMany(static r => r).Select(static i => i.Id.Index)];
            Assert.Equal(Enumerable.Range(0, 500).Select(i => (2 * i) + (route == "odd" ? 1 : 0)), indices);
        }

        WorkItem<byte[]>[] just = [new(new WorkId("a", 3), new byte[10_000], "k", 2, new Dictionary<string, string> { ["h"] = new('x', 60_000) })];
        Outgoing message = Assert.Single(
            new ItemMessages<byte[]>(WorkSerializer.Bytes, options, ArrayPool<byte>.Shared).Split(just, static _ => "q", null, isNew: true));
        Assert.InRange(message.Body.Length, 70_000, options.LargestMessage);
        WorkItem<byte[]>[] longHead = [new(new WorkId("a", 3), [], new string('k', 65_536))];
        Assert.Throws<WorkRefusedException>(
            () => new ItemMessages<byte[]>(WorkSerializer.Bytes, options, ArrayPool<byte>.Shared).Split(longHead, static _ => "q", null, isNew: true).Count());
        WorkItem<byte[]>[] tooLong = [new(new WorkId("a", 3), new byte[10_001])];
        WorkRefusedException refused = Assert.Throws<WorkRefusedException>(
            () => new ItemMessages<byte[]>(WorkSerializer.Bytes, options, ArrayPool<byte>.Shared).Split(tooLong, static _ => "q", null, isNew: true).Count());
        Assert.Contains("a/3", refused.Message, StringComparison.Ordinal);
        WorkItem<byte[]>[] half = [new(new WorkId("a", 3), [], "\uD800")];
        Assert.Throws<WorkRefusedException>(
            () => new ItemMessages<byte[]>(WorkSerializer.Bytes, options, ArrayPool<byte>.Shared).Split(half, static _ => "q", null, isNew: true).Count());
    }

    [Fact]
    public void Name_OfAMessage_IsThatOfItsItems()
    {
        Assert.Equal("a/7", Name(("a", 7, 1)));
        Assert.Equal("a/7-9", Name(("a", 7, 1), ("a", 8, 1), ("a", 9, 1)));
        Assert.Equal("a/7~2", Name(("a", 7, 2)));
        string[] names =
        [
            Name(("a", 7, 1), ("a", 9, 1)), Name(("a", 7, 1), ("a", 8, 1), ("a", 10, 1)), Name(("a", 7, 1), ("b", 8, 1)), Name(("a", 7, 1), ("a", 8, 2)),
            Name(("a", 7, 2), ("a", 8, 1)), Name(("a", 7, 1), ("a", 8, 1), ("b", 9, 1)), Name((new string('x', 300), 1, 1)), Name((new string('x', 301), 1, 1)),
        ];
        Assert.Equal(names.Length, names.Distinct().Count());
        Assert.All(names, static n => Assert.InRange(Encoding.UTF8.GetByteCount(n), 1, 255));
        Assert.Equal(Name(("a", 7, 1), ("b", 8, 1)), Name(("a", 7, 1), ("b", 8, 1)));
    }

    private static string Name(params (string Origin, int Index, int Attempt)[] items)
    {
        var writer = new EnvelopeWriter(ArrayPool<byte>.Shared);
        foreach ((string origin, int index, int attempt) in items)
        {
            writer.Add(new WorkId(origin, index), null, attempt, null, []);
        }

        (byte[] buffer, _, _, string name) = writer.Take();
        ArrayPool<byte>.Shared.Return(buffer);
        return name;
    }

    private static Item NewItem(Random random, int place)
    {
        byte[] value = new byte[random.Next(4) == 0 ? 0 : random.Next(200)];
        random.NextBytes(value);
        return new Item(
            new WorkId(random.Next(5) == 0 ? $"ünï{random.Next(3)}" : "origin", random.Next(4) == 0 ? random.Next() : place),
            random.Next(3) switch { 0 => null, 1 => "", _ => $"key {random.Next(1000)} \U0001F600" },
            random.Next(3) == 0 ? random.Next(1, int.MaxValue) : 1,
            random.Next(3) == 0 ? new Dictionary<string, string> { ["traceparent"] = $"{random.Next()}", [""] = "" } : null,
            value);
    }

    private static string Show(Item item) => string.Create(
        CultureInfo.InvariantCulture,
        $"{item.Id} {item.Key ?? "none"} {item.Attempt} {string.Join(';', item.Headers ?? NoHeaders)} {Convert.ToHexString(item.Value)}");

    private static byte[] Write(IEnumerable<Item> items)
    {
        var writer = new EnvelopeWriter(ArrayPool<byte>.Shared);
        foreach (Item item in items)
        {
            writer.Add(item.Id, item.Key, item.Attempt, item.Headers, item.Value);
            Assert.InRange(writer.Length, 0, EnvelopeFormat.HeaderLength + (long)int.MaxValue);
        }

        (byte[] buffer, int length, int count, _) = writer.Take();
        byte[] body = buffer[..length];
        ArrayPool<byte>.Shared.Return(buffer);
        Assert.True(count > 0);
        return body;
    }

    private static List<Item> Read(byte[] body)
    {
        List<Item> items = [];
        var reader = new EnvelopeReader(body);
        while (reader.Read())
        {
            items.Add(new Item(reader.Id, reader.Key, reader.Attempt, reader.Headers, reader.Value.ToArray()));
        }

        return items;
    }
}
