using Weir.Audit.Load;

namespace Weir.Audit;

/// <summary>The <c>weir-audit</c> program: whether Weir's queues lose anything, and how fast they are.</summary>
internal static class AuditApp
{
    public const string Name = "weir-audit";

    public static Task<int> RunAsync(IReadOnlyList<string> args, AuditHost host) => CliApp.RunAsync(Root(host), args, host);

    /// <summary>Parses the arguments without running the command.</summary>
    public static ParseResult Parse(IReadOnlyList<string> args, AuditHost host) => CliApp.Parse(Root(host), args);

    private static Command Root(AuditHost host) => CliApp.Root(
        Name,
        "Audits Weir's queues while parts of them are killed, and measures how fast they are.",
        [AuditCommand.Create(host), LoadCommand.Create(host), PartCommand.Create()]);
}
