using System.Security.Cryptography;
using System.Text.RegularExpressions;
using Weir.Lab.Processes;

namespace Weir.Audit.Servers;

/// <summary>
/// The PostgreSQL server of an audit, and the broker if its queue needs one: given, and then only lent, or its own, which can be killed and are gone
/// afterwards.
/// </summary>
internal sealed partial class AuditServer : IAsyncDisposable
{
    /// <summary>What the script calls the server, and the broker.</summary>
    public const string Postgres = "postgres";
    public const string Rabbit = "rabbitmq";

    private const string Variable = "WEIR_SERVICES";

    private readonly string? _script;
    private readonly string? _folder;

    private AuditServer(string connection, Uri? broker, string? script, string? folder)
    {
        Broker = broker;
        Admin = new NpgsqlConnectionStringBuilder(connection) { Pooling = false };
        _script = script;
        _folder = folder;
    }

    /// <summary>How to connect.</summary>
    public NpgsqlConnectionStringBuilder Admin { get; }

    /// <summary>The broker; <see langword="null"/> for queues that need none.</summary>
    public Uri? Broker { get; }

    /// <summary>Whether they may be killed.</summary>
    public bool IsOwn => _folder is not null;

    /// <summary>Uses what is there.</summary>
    public static AuditServer Given(string connection, Uri? broker) => new(connection, broker, null, null);

    /// <summary>Starts a server in a folder of its own.</summary>
    public static async Task<AuditServer> StartAsync(bool withBroker, CancellationToken stop)
    {
        string script = FindScript() ?? throw new BadInputException(
            "--postgres must be the connection string of a server, unless the command runs in the repository, whose eng/services starts one.");
        string folder = Path.Combine(Path.GetTempPath(), $"weir-audit-{RandomNumberGenerator.GetHexString(12, lowercase: true)}");
        try
        {
            string[] servers = withBroker ? [Postgres, Rabbit] : [Postgres];
            ChildEnd end = await RunAsync(script, folder, stop, ["up", .. While, .. servers]);
            string? broker = withBroker ? FindBroker(end.Output) : null;
            return end.Code == 0 && FindConnection(end.Output) is { } connection && (broker is not null || !withBroker)
                ? new AuditServer(connection, broker is null ? null : new Uri(broker), script, folder)
                : throw new BadInputException($"No server can be started here, so --postgres (and --rabbitmq) must name one: {end.Errors.Trim()}");
        }
        catch
        {
            await RunAsync(script, folder, CancellationToken.None, "down");
            throw;
        }
    }

    /// <summary>The connection string in what eng/services prints.</summary>
    public static string? FindConnection(string output) => Line().Match(output) is { Success: true } found ? found.Groups[1].Value : null;

    /// <summary>The address of the broker in what eng/services prints.</summary>
    public static string? FindBroker(string output) => BrokerLine().Match(output) is { Success: true } found ? found.Groups[1].Value : null;

    /// <summary>Kills all processes of one of them at once, as a crash would.</summary>
    public Task KillAsync(string server) => OwnAsync("kill", server);

    /// <summary>Stops one of them in an orderly way.</summary>
    public Task StopAsync(string server) => OwnAsync("stop", server);

    /// <summary>Starts it again, on the same port and data.</summary>
    public Task UpAsync(string server) => OwnAsync(["up", .. While, server]);

    public async ValueTask DisposeAsync()
    {
        if (_folder is not null)
        {
            await RunAsync(_script!, _folder, CancellationToken.None, "down");
        }
    }

    // They do not outlive this process, however it ends.
    private static string[] While => ["--while", Environment.ProcessId.ToString(CultureInfo.InvariantCulture)];

    private async Task OwnAsync(params string[] words)
    {
        ChildEnd end = await RunAsync(_script!, _folder!, CancellationToken.None, words);
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

    [GeneratedRegex("^WEIR_RABBITMQ='([^']*)'$", RegexOptions.Multiline)]
    private static partial Regex BrokerLine();
}
