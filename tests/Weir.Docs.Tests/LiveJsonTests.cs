using System.Text.Json;
using System.Text.RegularExpressions;
using Weir.Observability;

namespace Weir.Docs.Tests;

/// <summary>Are the fields and words of the JSON of what is live those of docs/reference/diagnostics.md?</summary>
public sealed partial class LiveJsonTests
{
    private static readonly string Page = DocPages.Read("docs/reference/diagnostics.md");

    [Fact]
    public void Snapshot_FieldsOfThePage_AreThoseOfTheJson() =>
        Assert.Equal(FieldsOf("| `version` |"), Fields(Whole().ToJson()));

    [Fact]
    public void History_FieldsOfThePage_AreThoseOfTheJson()
    {
        LiveHistory history = new()
        {
            Id = "run-1",
            Points = [new() { Time = DateTimeOffset.UnixEpoch, State = LiveState.Running, Rate = 1, Limit = 1, InFlight = 1, Waiting = 1, Failed = 1, Opened = 1 }],
        };
        Assert.Equal(FieldsOf("| `id` |"), Fields(history.ToJson()));
    }

    [Theory]
    [InlineData("kind", typeof(LiveKind))]
    [InlineData("state", typeof(LiveState))]
    [InlineData("actions", typeof(LiveAction))]
    [InlineData("reason", typeof(LiveReason))]
    public void Words_OfThePage_AreThoseOfTheJson(string field, Type type)
    {
        string row = Page.Split('\n').Single(line => line.StartsWith($"| `{field}` | `", StringComparison.Ordinal));
        Assert.Equal(
            Enum.GetNames(type).Select(JsonNamingPolicy.CamelCase.ConvertName),
            Ticked().Matches(row.Split('|')[2]).Select(static match => match.Groups[1].Value));
    }

    /// <summary>A snapshot that has a value in every field.</summary>
    private static WeirSnapshot Whole()
    {
        LiveEntry entry = new()
        {
            Id = "run-1",
            Kind = LiveKind.Run,
            Type = "x",
            Name = "x",
            State = LiveState.Running,
            Parent = "runtime-1",
            Since = DateTimeOffset.UnixEpoch,
            Done = 1,
            Failed = 1,
            Cancelled = 1,
            Retried = 1,
            InFlight = 1,
            Waiting = 1,
            Waits = new(1, 1, 1, 1),
            Output = 1,
            Limit = 1,
            Capacity = 1,
            Total = 1,
            Batches = 1,
            Rate = 1,
            Rate1s = 1,
            Rate1m = 1,
            EstimatedEnd = DateTimeOffset.UnixEpoch,
            LastError = new() { Type = "x", Message = "x" },
            Circuits = new(1, 1, 1),
            Opened = 1,
            Budget = new(1, 1, 1, 1, 1),
            Queue = new() { Backlog = 1, Scheduled = 1, InFlight = 1, DeadLetters = 1, OldestSeconds = 1 },
            Feeds = ["block-1"],
            Stages = [new() { Name = "x", Id = "block-1", Busy = 1, Idle = 0, Blocked = 0, Workers = 1 }],
            Bottleneck = new() { Stage = "x", Id = "block-1", Reason = LiveReason.SlowStage, Gain = 1, Sentence = "x" },
            Actions = [LiveAction.Pause],
        };
        Assert.All(typeof(LiveEntry).GetProperties(), property => Assert.NotNull(property.GetValue(entry)));
        return new WeirSnapshot { Time = DateTimeOffset.UnixEpoch, ProcessId = 1, ProcessName = "x", IsWatched = true, Entries = [entry] };
    }

    /// <summary>The first cells of the table of the page that has a row with this beginning.</summary>
    private static string[] FieldsOf(string firstRow)
    {
        string table = Page[Page.IndexOf(firstRow, StringComparison.Ordinal)..];
        return
        [
            .. table.Split('\n').TakeWhile(static line => line.StartsWith("| `", StringComparison.Ordinal))
                .Select(static line => Ticked().Match(line).Groups[1].Value).Order(StringComparer.Ordinal),
        ];
    }

    private static string[] Fields(byte[] json)
    {
        SortedSet<string> fields = new(StringComparer.Ordinal);
        using JsonDocument document = JsonDocument.Parse(json);
        Add(document.RootElement, "");
        return [.. fields];

        void Add(JsonElement element, string path)
        {
            if (element.ValueKind == JsonValueKind.Object)
            {
                foreach (JsonProperty property in element.EnumerateObject())
                {
                    string inner = path.Length == 0 ? property.Name : $"{path}.{property.Name}";
                    fields.Add(inner);
                    Add(property.Value, inner);
                }
            }
            else if (element.ValueKind == JsonValueKind.Array)
            {
                foreach (JsonElement item in element.EnumerateArray())
                {
                    Add(item, $"{path}[]");
                }
            }
        }
    }

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Ticked();
}
