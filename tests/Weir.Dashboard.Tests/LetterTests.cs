namespace Weir.Dashboard.Tests;

/// <summary>Dead letters are searched, replayed and dropped.</summary>
public class LetterTests
{
    private const string Ada = "ada:operators";

    private static readonly (string, DeadLetterReason, string, string)[] Letters =
    [
        ("a/0", DeadLetterReason.Failed, "System.FormatException: no number", "first"),
        ("b/0", DeadLetterReason.TimedOut, "System.TimeoutException: too late", "second"),
        ("c/0", DeadLetterReason.Failed, "System.FormatException: no date", "third <b>"),
        ("d/0", DeadLetterReason.Rejected, "", "fourth"),
    ];

    [Theory(Timeout = 60_000)]
    [InlineData("", "a/0 b/0 c/0 d/0")]
    [InlineData("&kind=Failed", "a/0 c/0")]
    [InlineData("&text=NO%20DATE", "c/0")]
    [InlineData("&from=2026-11-01T01:00&to=2026-11-01T02:00", "b/0 c/0")]
    [InlineData("&from=2026-11-01T02:30", "d/0")]
    [InlineData("&kind=Failed&text=number", "a/0")]
    [InlineData("&text=fourth", "d/0")]
    [InlineData("&state=waiting", "")]
    [InlineData("&kind=Crashed", "")]
    public async Task AFilter_FindsWhatItSays(string filter, string expected)
    {
        string name = $"filter {filter}";
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync(name, Letters);
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(static options => options.DescribeItem = static (_, bytes) => System.Text.Encoding.UTF8.GetString(bytes.Span)))
        {
            (_, string page) = await site.GetAsync($"?view=letters&id={Things.IdOf(name, LiveKind.Queue)}{filter}");
            string[] found = [.. Letters.Select(static letter => letter.Item1).Where(id => page.Contains($"<td class=\"name\"><bdi>{id}</bdi></td>", StringComparison.Ordinal))];
            Assert.Equal(expected, string.Join(' ', found));
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData("&kind=Broken", "kind must be one of ")]
    [InlineData("&from=yesterday", "from must be a time such as ")]
    [InlineData("&state=lost", "state must be one of ")]
    public async Task AFilter_ThatCannotBeRead_IsToldAndActsOnNothing(string filter, string sentence)
    {
        string name = $"unreadable {filter}";
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync(name, Letters);
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(Site.ForOperators))
        {
            string id = Things.IdOf(name, LiveKind.Queue);
            (_, string page) = await site.GetAsync($"?view=letters&id={id}{filter}", Ada);
            Assert.Contains(sentence, page, StringComparison.Ordinal);
            Assert.DoesNotContain("Drop all", page, StringComparison.Ordinal);
            string[] field = filter[1..].Split('=');
            (int status, string text) = await site.ActAsync(Ada, ("do", "drop-all"), ("id", id), (field[0], field[1]), ("to", "2026-12-01T00:00"));
            Assert.Equal(400, status);
            Assert.StartsWith(sentence, text, StringComparison.Ordinal);
            Assert.Equal(4, ((MemoryDeadLetters)queue.DeadLetters).Count);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Letters_AreReplayedAndDropped_OneOrAllOfAFilter()
    {
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync("replayed", Letters);
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(Site.ForOperators))
        {
            string id = Things.IdOf("replayed", LiveKind.Queue);
            Assert.Equal((200, "1 dead letter removed."), await site.ActAsync(Ada, ("do", "drop"), ("id", id), ("letter", "b/0")));
            Assert.Equal((200, "2 dead letters published again."), await site.ActAsync(Ada, ("do", "replay-all"), ("id", id), ("kind", "Failed"), ("to", "2026-12-01T00:00")));
            Assert.Equal(2, queue.Count);
            Assert.Equal((200, "0 dead letters removed. 1 other of 1 had gone meanwhile."), await site.ActAsync(Ada, ("do", "drop"), ("id", id), ("letter", "b/0")));
            Assert.Equal((200, "1 dead letter removed."), await site.ActAsync(Ada, ("do", "drop-all"), ("id", id), ("to", "2026-12-01T00:00")));
            Assert.Equal(0, ((MemoryDeadLetters)queue.DeadLetters).Count);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Letters_ThatCameAfterThePageWasDrawn_AreLeftAlone()
    {
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync("came later", Letters);
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(Site.ForOperators))
        {
            string id = Things.IdOf("came later", LiveKind.Queue);
            Assert.Equal((200, "2 dead letters removed."), await site.ActAsync(Ada, ("do", "drop-all"), ("id", id), ("to", "2026-11-01T01:30")));
            Assert.Equal((400, "to must be the time up to which the letters were seen."), await site.ActAsync(Ada, ("do", "drop-all"), ("id", id)));
            Assert.Equal(2, ((MemoryDeadLetters)queue.DeadLetters).Count);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Contents_AreShownOnlyThroughDescribeItem()
    {
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync("contents", Letters);
        await using (queue)
        await using (gauges)
        {
            string query = $"?view=letters&id={Things.IdOf("contents", LiveKind.Queue)}";
            await using Site silent = await Site.StartAsync();
            Assert.DoesNotContain("third", (await silent.GetAsync(query)).Text, StringComparison.Ordinal);
            await using Site telling = await Site.StartAsync(static options => options.DescribeItem = static (_, bytes) => System.Text.Encoding.UTF8.GetString(bytes.Span));
            Assert.Contains("third &lt;b&gt;", (await telling.GetAsync(query)).Text, StringComparison.Ordinal);
            await using Site failing = await Site.StartAsync(static options => options.DescribeItem = static (_, _) => throw new TestException());
            Assert.Contains("DescribeItem failed: TestException", (await failing.GetAsync(query)).Text, StringComparison.Ordinal);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task ASearch_ReadsNoMoreThanItMay_AndSaysSo()
    {
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync("many", Letters);
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(static options => options.MaxSearched = 3))
        {
            (_, string page) = await site.GetAsync($"?view=letters&id={Things.IdOf("many", LiveKind.Queue)}");
            Assert.Contains("3 dead letters found in 3 read; there are more, which were not read.", page, StringComparison.Ordinal);
        }
    }
}
