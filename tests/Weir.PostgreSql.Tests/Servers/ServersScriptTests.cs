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

    [Fact(Timeout = Limit)]
    public async Task UpWhile_WhileTheFilesOfTheLastOneAreRemoved_HasServersOfItsOwn()
    {
        // An rm that begins with the lock, and goes on when the test lets it.
        string tools = Directory.CreateTempSubdirectory("weir-script-rm-").FullName;
        string rm = Path.Combine(tools, "rm");
        await File.WriteAllTextAsync(
            rm,
            $"""
            #!/bin/sh
            if [ "$1" = -rf ] && [ -e "$2/lock" ]; then
                /bin/rm -f "$2/lock"
                touch '{tools}/removing'
                while [ ! -e '{tools}/go' ]; do sleep 0.05; done
                /bin/rm "$@"
                touch '{tools}/removed'
            else
                exec /bin/rm "$@"
            fi
            """,
            CancellationToken.None);
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(rm, UnixFileMode.UserRead | UnixFileMode.UserExecute);
        }

        using Process first = Sleep();
        using Process second = Sleep();
        try
        {
            (int code, _, string error) = await RunAsync("up", "--while", Number(first), "postgres");
            Assert.SkipWhen(code != 0, $"No server can be started here: {error}");
            Task leaves = ServersScript.RunAsync(_folder, new Dictionary<string, string> { ["PATH"] = $"{tools}:{Environment.GetEnvironmentVariable("PATH")}" }, "leave", Number(first));
            await Guard.UntilAsync(() => File.Exists(Path.Combine(tools, "removing")), "The end of the first");
            Assert.Equal(0, (await RunAsync("up", "--while", Number(second), "postgres")).Code);
            await File.WriteAllTextAsync(Path.Combine(tools, "go"), "", CancellationToken.None);
            await leaves;
            Assert.True(File.Exists(Path.Combine(tools, "removed")));
            Assert.Contains("postgres: up", (await RunAsync("status")).Output, StringComparison.Ordinal);
            Assert.Equal([_folder], Directory.GetDirectories(Path.GetTempPath(), Path.GetFileName(_folder) + "*"));
        }
        finally
        {
            first.Kill();
            second.Kill();
            await File.WriteAllTextAsync(Path.Combine(tools, "go"), "", CancellationToken.None);
            await RunAsync("leave", Number(second));
            Directory.Delete(tools, recursive: true);
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
