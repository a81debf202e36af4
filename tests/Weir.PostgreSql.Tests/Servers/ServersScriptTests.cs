using System.Diagnostics;
using System.Globalization;

namespace Weir.PostgreSql.Tests.Servers;

/// <summary>The script that starts servers for as long as processes need them: none is left, however these end.</summary>
public sealed class ServersScriptTests : IAsyncDisposable
{
    private const int Limit = 300_000;

    private readonly string _folder = Path.Combine(Path.GetTempPath(), $"weir-script-{Guid.NewGuid():N}");

    [Fact(Timeout = Limit)]
    public async Task UpWhile_ProcessesLeaveOrAreKilled_ServerStopsWithTheLastAndLeavesNothing()
    {
        using Process leaves = Sleep();
        using Process killed = Sleep();
        try
        {
            (int code, _, string error) = await RunAsync("up", "--while", Number(leaves), "postgres");
            Assert.SkipWhen(code != 0, $"No server can be started here: {error}");
            Assert.Equal(0, (await RunAsync("up", "--while", Number(killed), "postgres")).Code);
            Assert.Equal(0, (await RunAsync("leave", Number(leaves))).Code);
            Assert.Contains("postgres: up", (await RunAsync("status")).Output, StringComparison.Ordinal);
        }
        finally
        {
            leaves.Kill();
            killed.Kill();
        }

        await Guard.UntilAsync(() => !Directory.Exists(_folder), "The end of the server whose last process was killed");
    }

    [Fact(Timeout = Limit)]
    public async Task Leave_ServerThatWasAskedToStay_StaysAndThenKeepsItsData()
    {
        (int code, _, string error) = await RunAsync("up", "postgres");
        Assert.SkipWhen(code != 0, $"No server can be started here: {error}");
        using Process process = Sleep();
        try
        {
            Assert.Equal(0, (await RunAsync("up", "--while", Number(process), "postgres")).Code);
            Assert.Equal(0, (await RunAsync("leave", Number(process))).Code);
            Assert.Contains("postgres: up", (await RunAsync("status")).Output, StringComparison.Ordinal);

            // From here on it is a server of that process alone, with data that are not.
            Assert.Equal(0, (await RunAsync("stop")).Code);
            Assert.Equal(0, (await RunAsync("up", "--while", Number(process), "postgres")).Code);
            Assert.Equal(0, (await RunAsync("leave", Number(process))).Code);
            Assert.Contains("postgres: down", (await RunAsync("status")).Output, StringComparison.Ordinal);
            Assert.True(Directory.Exists(Path.Combine(_folder, "postgres", "data")));
        }
        finally
        {
            process.Kill();
        }
    }

    [Theory]
    [InlineData("up --while x", "services: 'x' is not the number of a process.")]
    [InlineData("up --while", "services: --while needs the number of a process.")]
    [InlineData("leave", "services: leave needs the number of a process.")]
    [InlineData("up mysql", "services: 'mysql' is not a server: postgres or rabbitmq.")]
    public async Task Command_WithoutWhatItNeeds_SaysSo(string words, string message)
    {
        (int code, string output, string error) = await RunAsync(words.Split(' '));
        Assert.Equal((1, "", message), (code, output, error.Trim()));
    }

    public async ValueTask DisposeAsync()
    {
        if (Directory.Exists(_folder))
        {
            await RunAsync("down");
        }
    }

    private static Process Sleep() => Process.Start("sleep", "600");

    private static string Number(Process process) => process.Id.ToString(CultureInfo.InvariantCulture);

    private Task<(int Code, string Output, string Error)> RunAsync(params string[] words) => ServersScript.RunAsync(_folder, words);
}
