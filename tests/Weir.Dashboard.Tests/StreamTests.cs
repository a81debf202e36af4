using System.Buffers;
using System.Net.Http.Headers;
using System.Text;
using Weir.Dashboard.Page;

namespace Weir.Dashboard.Tests;

/// <summary>What the stream sends: each look drawn once for all who may see the same, and of that what has changed.</summary>
public class StreamTests
{
    private const string Query = "?view=entry&id=";

    [Fact]
    public void AnEvent_HasAllSectionsOfTheLook_AndEmptyOnesThatLookTheSame()
    {
        SharedDrawing drawing = new();
        List<long> has = [];
        LiveEntry run = new() { Id = "run-1", Kind = LiveKind.Run, Type = "T", Name = "first", State = LiveState.Running, Done = 1 };
        LiveEntry limit = new() { Id = "limit-2", Kind = LiveKind.Limit, Type = "SharedConcurrencyLimit", Name = "second\nline </section>", State = LiveState.Idle, Limit = 3 };
        string first = EventOf(drawing, has, run, limit);
        Assert.StartsWith("data: <section", first, StringComparison.Ordinal);
        Assert.EndsWith("</section>\n\n", first, StringComparison.Ordinal);
        Assert.Equal(2, first.Count(static c => c == '\n'));
        string[] sections = ["now", "runs", "networks", "policies", "hosts", "queues"];
        Assert.Equal(sections, Sections(first).Select(static section => section.Split('"')[1]));
        Assert.Contains(">1</td>", first, StringComparison.Ordinal);

        // Another who comes now has nothing yet.
        Assert.Equal(first, EventOf(drawing, [], run, limit));
        Assert.Equal(":\n\n", EventOf(drawing, has, run, limit));
        string second = EventOf(drawing, has, run with { Done = 2 }, limit);
        Assert.Equal(
            sections.Where(static id => id != "runs").Select(static id => $"<section id=\"{id}\" data-same>"), Sections(second).Where(static section => section.Contains("data-same", StringComparison.Ordinal)));
        Assert.Contains(">2</td>", second, StringComparison.Ordinal);

        // Whoever has missed a look gets what has changed since the one before; and what looks as it once did is sent again, because nobody kept it.
        List<long> late = [.. has];
        EventOf(drawing, has, run with { Done = 3 }, limit with { Limit = 4 });
        string third = EventOf(drawing, late, run with { Done = 2 }, limit with { Limit = 4 });
        Assert.Equal(["runs", "policies"], Sections(third).Where(static section => !section.Contains("data-same", StringComparison.Ordinal)).Select(static section => section.Split('"')[1]));
    }

    [Fact]
    public void AnEvent_OfWhatHasChanged_AllocatesNoMoreThanOneOfWhatHasNot()
    {
        SharedDrawing drawing = new();
        List<long> has = [];
        ArrayBufferWriter<byte> to = new();
        long[] allocated = new long[8];
        int[] lengths = new int[8];
        for (int look = 0; look < allocated.Length; look++)
        {
            // Each second look has changed.
            PageData data = Data(
            [
                .. Enumerable.Range(0, 100).Select(number => new LiveEntry
                {
                    Id = $"run-{number}", Kind = LiveKind.Run, Type = "T", Name = $"run {number}", State = LiveState.Running, Done = 1000 + number + (look / 2), Rate = number,
                }),
            ]);
            to.ResetWrittenCount();
            long before = GC.GetAllocatedBytesForCurrentThread();
            drawing.AddEvent(data, has, to);
            allocated[look] = GC.GetAllocatedBytesForCurrentThread() - before;
            lengths[look] = to.WrittenCount;
        }

        Assert.Equal(3, lengths[7]);
        Assert.True(allocated[6] - allocated[7] < lengths[6] / 2, $"{allocated[6]} bytes were allocated for an event of {lengths[6]}, and {allocated[7]} for one of nothing new");
    }

    [Theory]
    [InlineData(new[] { 1.0, 1, 1, 1, 1 }, "0.0,2.0 140.0,2.0 ")]
    [InlineData(new[] { 0.0, 0, 4, 4, 4, 0 }, "0.0,29.0 28.0,29.0 56.0,2.0 112.0,2.0 140.0,29.0 ")]
    [InlineData(new[] { 0.0, 4 }, "0.0,29.0 140.0,2.0 ")]
    public void ALine_HasEachCornerAndNoPointBetween(double[] rates, string line)
    {
        Markup page = new();
        DateTimeOffset start = new(2026, 11, 1, 0, 0, 0, TimeSpan.Zero);
        Drawings.Sparkline(page, LiveKind.Run, [.. rates.Select((rate, i) => new LivePoint { Time = start.AddSeconds(10 * i), State = LiveState.Running, Rate = rate })]);
        Assert.Contains($"<polyline class=\"rate\" points=\"{line}\"/>", Encoding.UTF8.GetString(page.Html.Span), StringComparison.Ordinal);
    }

    [Fact]
    public void ACircuit_ThatOpenedBetweenTwoLooks_IsCountedAndDrawn()
    {
        DateTimeOffset start = new(2026, 11, 1, 0, 0, 0, TimeSpan.Zero);
        (LiveState State, long Opened)[] looks = [(LiveState.Closed, 5), (LiveState.Closed, 5), (LiveState.Closed, 7), (LiveState.Open, 8), (LiveState.Closed, 8)];
        LivePoint[] points = [.. looks.Select((look, i) => new LivePoint { Time = start.AddSeconds(10 * i), State = look.State, Opened = look.Opened })];
        LiveEntry breaker = new() { Id = "breaker-1", Kind = LiveKind.Breaker, Type = "T", State = LiveState.Isolated, Opened = 9 };
        Markup page = new();
        Drawings.States(page, breaker with { State = LiveState.Closed, Opened = 8 }, points[^1].Time, points);
        string drawing = Encoding.UTF8.GetString(page.Html.Span);
        Assert.Contains("State over 40 s: now closed, opened 3 times</title>", drawing, StringComparison.Ordinal);
        Assert.Contains("<rect class=\"open\" x=\"70.0\" y=\"2\" width=\"1\" height=\"10\"/>", drawing, StringComparison.Ordinal);
        Assert.Equal(2, drawing.Split("class=\"open\"").Length - 1);

        // What has happened since the last point is in it.
        page.Clear();
        Drawings.States(page, breaker, points[^1].Time.AddSeconds(10), points, isLarge: true);
        drawing = Encoding.UTF8.GetString(page.Html.Span);
        Assert.Contains("<rect class=\"open\" x=\"640.0\" y=\"2\" width=\"1.0\" height=\"10\"/>", drawing.Replace("width=\"1\"", "width=\"1.0\"", StringComparison.Ordinal), StringComparison.Ordinal);
        Assert.EndsWith("<span class=\"soft\">State over 50 s: now isolated, opened 4 times</span>", drawing, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(LiveKind.Run, "Rate a second over 20 s: now 9, at most 9; limit now 4, at most 4")]
    [InlineData(LiveKind.Limit, "In use over 30 s: now 3, at most 3; limit now 4, at most 4")]
    [InlineData(LiveKind.Queue, "Backlog over 30 s: now 7, at most 7")]
    [InlineData(LiveKind.RateLimit, "Waiting over 30 s: now 7, at most 7; limit now 4, at most 4")]
    public void APicture_IsOfWhatItsKindHas_BeginsWhereThatIsKnown_AndSaysItInWords(LiveKind kind, string expected)
    {
        DateTimeOffset start = new(2026, 11, 1, 0, 0, 0, TimeSpan.Zero);
        Markup page = new();
        Drawings.Sparkline(
            page,
            kind,
            [.. Enumerable.Range(0, 4).Select(i => new LivePoint { Time = start.AddSeconds(10 * i), State = LiveState.Running, Rate = i == 0 ? null : 9, InFlight = 3, Waiting = 7, Limit = 4 })],
            isLarge: true);
        string drawing = Encoding.UTF8.GetString(page.Html.Span);
        Assert.Contains($"<title>{expected}</title>", drawing, StringComparison.Ordinal);
        Assert.EndsWith($"<span class=\"soft\">{expected}</span>", drawing, StringComparison.Ordinal);

        // A line of one height lies at the top, and below the limit that it might hide.
        Assert.Contains(kind == LiveKind.Run ? "class=\"rate\" points=\"0.0,21.5 640.0,21.5 \"" : "class=\"rate\" points=\"0.0,", drawing, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task TwoWhoLookAtTheSame_SeeWhatEachMay_AndThenWhatChanges()
    {
        ManualTimeProvider time = new();
        SharedConcurrencyLimit shared = new(3) { Name = "in a stream" };
        await using Site site = await Site.StartAsync(options =>
        {
            Site.ForOperators(options);
            options.TimeProvider = time;
        });
        string query = Query + Things.IdOf("in a stream", LiveKind.Limit);
        await using Events operators = await Events.OpenAsync(site, query, "ada:operators");
        await using Events others = await Events.OpenAsync(site, query, "bob:operators");
        await using Events viewers = await Events.OpenAsync(site, query, "eve");
        string token = await operators.NextAsync();
        Assert.StartsWith("event: token\ndata: __RequestVerificationToken ", token, StringComparison.Ordinal);
        Assert.NotEqual(token, await others.NextAsync());
        foreach (Events who in new[] { operators, others })
        {
            string first = await who.NextAsync();
            Assert.Contains("name=\"limit\"", first, StringComparison.Ordinal);
            Assert.DoesNotContain("__RequestVerificationToken", first, StringComparison.Ordinal);
        }

        string seen = await viewers.NextAsync();
        Assert.StartsWith("data: <section id=\"entry\">", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("<form", seen, StringComparison.Ordinal);

        shared.Limit = 4;
        time.Advance(TimeSpan.FromMilliseconds(500));
        time.Advance(TimeSpan.FromMilliseconds(500));
        Assert.DoesNotContain("value=\"3\"", await operators.UntilAsync("value=\"4\""), StringComparison.Ordinal);
        Assert.DoesNotContain("value=\"3\"", await others.UntilAsync("value=\"4\""), StringComparison.Ordinal);
        Assert.DoesNotContain("<form", await viewers.UntilAsync("Limit</th><td class=\"text\"><bdi>4"), StringComparison.Ordinal);
    }

    private static string[] Sections(string text) => [.. text.Split("</section>")[..^1].Select(static section => section[section.IndexOf('<', StringComparison.Ordinal)..(section.IndexOf('>', StringComparison.Ordinal) + 1)])];

    private static string EventOf(SharedDrawing drawing, List<long> has, params LiveEntry[] entries)
    {
        ArrayBufferWriter<byte> to = new();
        drawing.AddEvent(Data(entries), has, to);
        return Encoding.UTF8.GetString(to.WrittenSpan);
    }

    private static PageData Data(params LiveEntry[] entries) => new(
        PageRequest.Read(static _ => null),
        new WeirSnapshot { Time = new DateTimeOffset(2026, 11, 1, 0, 0, 0, TimeSpan.Zero), ProcessId = 1, ProcessName = "p", Entries = entries },
        static _ => [], MayAct: false, Token: null, Found: null, Failure: null);

    /// <summary>The events of a stream, as a browser reads them.</summary>
    private sealed class Events(HttpResponseMessage response, StreamReader reader) : IAsyncDisposable
    {
        public static async Task<Events> OpenAsync(Site site, string query, string user)
        {
            using HttpRequestMessage request = new(HttpMethod.Get, "/weir" + query);
            request.Headers.Add("X-User", user);
            request.Headers.Accept.Add(new MediaTypeWithQualityHeaderValue("text/event-stream"));
            HttpResponseMessage response = await site.Client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, TestContext.Current.CancellationToken);
            return new Events(response, new StreamReader(await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken)));
        }

        public async Task<string> NextAsync()
        {
            StringBuilder lines = new();
            while (await reader.ReadLineAsync(TestContext.Current.CancellationToken).AsTask().WithinAsync("an event") is { Length: > 0 } line)
            {
                lines.Append(lines.Length > 0 ? "\n" : "").Append(line);
            }

            return lines.ToString();
        }

        /// <summary>The first event with a text.</summary>
        public async Task<string> UntilAsync(string text)
        {
            while (true)
            {
                string next = await NextAsync();
                if (next.Contains(text, StringComparison.Ordinal))
                {
                    return next;
                }
            }
        }

        public ValueTask DisposeAsync()
        {
            reader.Dispose();
            response.Dispose();
            return default;
        }
    }
}
