using System.Net.Http.Headers;
using System.Text;
using Weir.Dashboard.Page;

namespace Weir.Dashboard.Tests;

/// <summary>What the stream sends: each look drawn once for all who may see the same, and of that what has changed.</summary>
public class StreamTests
{
    private const string Query = "?view=entry&id=";

    [Fact]
    public void ADrawing_IsThatOfTheLook_AndSectionsThatLookTheSameAreTheSame()
    {
        SharedDrawing drawing = new();
        LiveEntry run = new() { Id = "run-1", Kind = LiveKind.Run, Type = "T", Name = "first", State = LiveState.Running, Done = 1 };
        LiveEntry limit = new() { Id = "limit-2", Kind = LiveKind.Limit, Type = "SharedConcurrencyLimit", Name = "second\nline </section>", State = LiveState.Idle, Limit = 3 };
        IReadOnlyList<DrawnSection> first = drawing.Of(Data(run, limit));
        Assert.Equal(["now", "runs", "networks", "policies", "hosts", "queues"], first.Select(static section => section.Id));
        Assert.All(first, static section => Assert.DoesNotContain((byte)'\n', section.Html));
        Assert.All(first, static section => Assert.StartsWith($"<section id=\"{section.Id}\">", Encoding.UTF8.GetString(section.Html), StringComparison.Ordinal));
        Assert.All(first, static section => Assert.Equal(1, Encoding.UTF8.GetString(section.Html).Split("</section>").Length - 1));

        IReadOnlyList<DrawnSection> second = drawing.Of(Data(run with { Done = 2 }, limit));
        Assert.Equal(["runs"], second.Except(first).Select(static section => section.Id));
        Assert.Contains(">2</td>", Encoding.UTF8.GetString(second[1].Html), StringComparison.Ordinal);
        Assert.Contains(">1</td>", Encoding.UTF8.GetString(first[1].Html), StringComparison.Ordinal);
    }

    [Fact]
    public void ADrawing_OfWhatIsTheSame_AllocatesLittle()
    {
        SharedDrawing drawing = new();
        LiveEntry[] entries =
        [
            .. Enumerable.Range(0, 100).Select(static number => new LiveEntry { Id = $"run-{number}", Kind = LiveKind.Run, Type = "T", Name = $"run {number}", State = LiveState.Running, Done = number, Rate = number }),
            .. Enumerable.Range(0, 100).Select(static number => new LiveEntry { Id = $"block-{number}", Kind = LiveKind.Block, Type = "T", Name = $"block {number}", State = LiveState.Running, Parent = "network-0", Feeds = [] }),
            new LiveEntry { Id = "network-0", Kind = LiveKind.Network, Type = "100 blocks", State = LiveState.Running },
        ];
        int length = drawing.Of(Data(entries)).Sum(static section => section.Html.Length);
        drawing.Of(Data(entries));
        PageData again = Data(entries);
        long before = GC.GetAllocatedBytesForCurrentThread();
        drawing.Of(again);
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        Assert.True(allocated < 2 * length, $"{allocated} bytes were allocated to draw {length} bytes again");
    }

    [Theory]
    [InlineData(new[] { 1.0, 1, 1, 1, 1 }, "0.0,2.0 140.0,2.0 ")]
    [InlineData(new[] { 0.0, 0, 4, 4, 4, 0 }, "0.0,29.0 28.0,29.0 56.0,2.0 112.0,2.0 140.0,29.0 ")]
    [InlineData(new[] { 0.0, 4 }, "0.0,29.0 140.0,2.0 ")]
    public void ALine_HasEachCornerAndNoPointBetween(double[] rates, string line)
    {
        Markup page = new();
        DateTimeOffset start = new(2026, 11, 1, 0, 0, 0, TimeSpan.Zero);
        Drawings.Sparkline(page, [.. rates.Select((rate, i) => new LivePoint { Time = start.AddSeconds(10 * i), State = LiveState.Running, Rate = rate })]);
        Assert.Contains($"<polyline class=\"rate\" points=\"{line}\"/>", Encoding.UTF8.GetString(page.Html.Span), StringComparison.Ordinal);
    }

    [Fact]
    public void ACircuit_ThatOpenedBetweenTwoLooks_IsCountedAndDrawn()
    {
        DateTimeOffset start = new(2026, 11, 1, 0, 0, 0, TimeSpan.Zero);
        (LiveState State, long Opened)[] looks = [(LiveState.Closed, 5), (LiveState.Closed, 5), (LiveState.Closed, 7), (LiveState.Open, 8), (LiveState.Closed, 8)];
        Markup page = new();
        Drawings.States(page, [.. looks.Select((look, i) => new LivePoint { Time = start.AddSeconds(10 * i), State = look.State, Opened = look.Opened })]);
        string drawing = Encoding.UTF8.GetString(page.Html.Span);
        Assert.Contains("now closed, opened 3 times</title>", drawing, StringComparison.Ordinal);
        Assert.Contains("<rect class=\"open\" x=\"110.0\" y=\"2\" width=\"1\" height=\"10\"/>", drawing, StringComparison.Ordinal);
        Assert.Equal(2, drawing.Split("class=\"open\"").Length - 1);
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
