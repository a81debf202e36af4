using System.Globalization;
using System.Text.Json;
using RabbitMQ.Client;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Work;

/// <summary>The commands over a queue in RabbitMQ: what one publishes, another runs, and a third replays.</summary>
public sealed class RabbitWorkTests(TestRabbit rabbit) : IClassFixture<TestRabbit>, IAsyncDisposable
{
    private const int Limit = 120_000;
    private const string Password = "sesame-open-7";

    private readonly string _name = string.Create(CultureInfo.InvariantCulture, $"cli.{Environment.ProcessId}-{Guid.NewGuid():N}");

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Queue_FromPublishToReplay_LosesNothing(bool isOrdered)
    {
        string[] order = isOrdered ? ["--ordered"] : [];
        await Succeeds(null, ["setup", .. order]);
        LoadResult published = await Succeeds(null, ["publish", "--key-separator", "=", "--origin", "file", "-", .. order]);
        Assert.StartsWith("12 items", published.Out, StringComparison.Ordinal);
        LoadResult ran = await Succeeds(
            12,
            ["run", "--attempts", "1", "--quiet", "--shell", "--exec", "read -r x; echo \"$x\"; [ \"$x\" != bad ] || { echo oh no >&2; exit 4; }", .. order]);
        Assert.StartsWith("11 processed, 0 repeated, 1 dead letters, 0 returned", ran.Error, StringComparison.Ordinal);
        JsonElement letter = (await Succeeds(null, ["dead", "list", "--json", .. order])).Json;
        Assert.Equal(
            ("file/11", "Failed", "k", "bad"),
            (letter.GetProperty("id").GetString(), letter.GetProperty("reason").GetString(), letter.GetProperty("key").GetString(),
                letter.GetProperty("value").GetString()));
        Assert.Contains("'sh' ended with exit code 4: oh no", (await Succeeds(null, ["dead", "show", "file/11", .. order])).Out, StringComparison.Ordinal);
        Assert.Equal(1, (await Succeeds(null, ["dead", "replay", "--all", "--json", .. order])).Json.GetProperty("replayed").GetInt32());
        Assert.Equal("bad", (await Succeeds(1, ["run", "--quiet", .. order])).Lines[0]);
    }

    [Theory(Timeout = Limit)]
    [InlineData("amqp://worker:sesame-open-7@/", "--queue must be an address such as amqp://")]
    [InlineData("amqp://worker:sesame-open-7:x@localhost/", "--queue must be an address such as amqp://")]
    [InlineData("amqp://worker:sesame-open-7@localhost/a/b", "--queue must be an address such as amqp://")]
    [InlineData("amqp://worker:sesame-open-7@localhost:1/ --schema s", "--schema is for PostgreSQL")]
    [InlineData("amqp://worker:sesame-open-7@127.0.0.1:1/", "")]
    public async Task Address_CannotBeUsed_SaysSoWithoutThePassword(string words, string message)
    {
        LoadResult ran = await new CliUnderTest().RunAsync($"weir-work dead list --queue {words}");
        Assert.Equal(1, ran.ExitCode);
        Assert.StartsWith($"weir-work: {message}", ran.Error, StringComparison.Ordinal);
        Assert.DoesNotContain(Password, ran.Error + ran.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task BrokerTable_OneRound_HasARowForEachArmAndNoPassword()
    {
        CliUnderTest cli = new() { Variables = { ["WEIR_RABBITMQ"] = rabbit.Address } };
        LoadResult ran = await cli.RunAsync("eng/tables figures broker --rounds 1 --messages 45 --millions 0");
        Assert.True(ran.ExitCode == 0, ran.Error);
        Assert.All(
            ["| 1 item a message | Weir |", "| 256 items a message | Weir |", "| a quorum queue | without confirms |", "| a classic queue | not persistent |"],
            row => Assert.Contains(row, ran.Out, StringComparison.Ordinal));
        Assert.DoesNotContain(rabbit.Address, ran.Out + ran.Error, StringComparison.Ordinal);
    }

    public async ValueTask DisposeAsync()
    {
        if (rabbit.Found is not { } address)
        {
            return;
        }

        await using IConnection connection = await new ConnectionFactory { Uri = new Uri(address) }.CreateConnectionAsync();
        await using IChannel channel = await connection.CreateChannelAsync();
        string[] queues =
        [
            "", "suspects", "dead", "retry.1000", "retry.10000", "retry.60000", "retry.600000", .. Enumerable.Range(0, 16).Select(static i => $"{i}"),
        ];
        foreach (string queue in queues)
        {
            await channel.QueueDeleteAsync(queue.Length == 0 ? _name : $"{_name}.{queue}", ifUnused: false, ifEmpty: false);
        }

        await channel.ExchangeDeleteAsync(_name);
    }

    private async Task<LoadResult> Succeeds(int? stopsAfterLines, string[] arguments)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The commands are those of a Unix shell.");
        CliUnderTest cli = new()
        {
            Input = string.Concat(Enumerable.Range(0, 11).Select(static i => $"k=value {i}\n")) + "k=bad\n",
            Variables = { ["WEIR_QUEUE"] = rabbit.Address },
            StopsAfterLines = stopsAfterLines,
        };
        LoadResult result = await cli.RunAsync(["weir-work", .. arguments, "--name", _name]);
        Assert.True(result.ExitCode == 0, result.Error);
        return result;
    }
}
