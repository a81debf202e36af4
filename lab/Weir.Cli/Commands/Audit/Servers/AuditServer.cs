using System.Diagnostics;
using System.Security.Cryptography;
using System.Text.RegularExpressions;
using Npgsql;
using Weir.Cli.Hosting;
using Weir.Lab.Processes;

namespace Weir.Cli.Commands.Audit.Servers;

/// <summary>
/// The PostgreSQL server of an audit: one that is given, which only lends a database, or one of its own, which can be killed and is gone afterwards.
/// </summary>
internal sealed partial class AuditServer : IAsyncDisposable
{
    private const string Variable = "WEIR_SERVICES";

    private readonly string? _script;
    private readonly string? _folder;

    private AuditServer(string connection, string? script, string? folder)
    {
        Admin = new NpgsqlConnectionStringBuilder(connection) { Pooling = false };
        _script = script;
        _folder = folder;
    }

    /// <summary>How to connect.</summary>
    public NpgsqlConnectionStringBuilder Admin { get; }

    /// <summary>Whether it may be killed.</summary>
    public bool IsOwn => _folder is not null;

    /// <summary>Uses a server that is there.</summary>
    public static AuditServer Given(string connection) => new(connection, null, null);

    /// <summary>Starts a server in a folder of its own.</summary>
    /// <exception cref="BadInputException">There is none to be started here.</exception>
    public static async Task<AuditServer> StartAsync(CancellationToken stop)
    {
        string script = FindScript() ?? throw new BadInputException(
            "--postgres must be the connection string of a server, unless the command runs in the repository, whose eng/services starts one.");
        string folder = Path.Combine(Path.GetTempPath(), $"weir-audit-{RandomNumberGenerator.GetHexString(12, lowercase: true)}");
        try
        {
            ChildEnd end = await RunAsync(script, folder, stop, "up", "postgres").ConfigureAwait(false);
            return end.Code == 0 && FindConnection(end.Output) is { } connection
                ? new AuditServer(connection, script, folder)
                : throw new BadInputException($"No PostgreSQL server can be started here, so --postgres must name one: {end.Errors.Trim()}");
        }
        catch
        {
            await RunAsync(script, folder, CancellationToken.None, "down").ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>The connection string in what eng/services prints.</summary>
    public static string? FindConnection(string output) => Line().Match(output) is { Success: true } found ? found.Groups[1].Value : null;

    /// <summary>Kills all its processes at once, as a crash would.</summary>
    public Task KillAsync() => OwnAsync("kill", "postgres");

    /// <summary>Stops it in an orderly way.</summary>
    public Task StopAsync() => OwnAsync("stop", "postgres");

    /// <summary>Starts it again, on the same port and data.</summary>
    public Task UpAsync() => OwnAsync("up", "postgres");

    public async ValueTask DisposeAsync()
    {
        if (_folder is not null)
        {
            await RunAsync(_script!, _folder, CancellationToken.None, "down").ConfigureAwait(false);
        }
    }

    private async Task OwnAsync(params string[] words)
    {
        ChildEnd end = await RunAsync(_script!, _folder!, CancellationToken.None, words).ConfigureAwait(false);
        if (end.Code != 0)
        {
            throw new InvalidOperationException($"'eng/services {string.Join(' ', words)}' failed: {end.Errors.Trim()}");
        }
    }

    private static Task<ChildEnd> RunAsync(string script, string folder, CancellationToken stop, params string[] words)
    {
        ProcessStartInfo info = new(script, words);
        info.Environment[Variable] = folder;
        return ChildProgram.RunAsync(info, stop);
    }

    // From the folder that the user is in, and from that of the program.
    private static string? FindScript()
    {
        foreach (string start in new[] { Environment.CurrentDirectory, AppContext.BaseDirectory })
        {
            for (string? folder = start; folder is not null; folder = Path.GetDirectoryName(folder))
            {
                string script = Path.Combine(folder, "eng", "services");
                if (File.Exists(script))
                {
                    return script;
                }
            }
        }

        return null;
    }

    [GeneratedRegex("^WEIR_POSTGRES='([^']*)'$", RegexOptions.Multiline)]
    private static partial Regex Line();
}
