namespace Weir.Cli.Measuring;

/// <summary>The argument that names a workload.</summary>
internal static class WorkloadArgument
{
    /// <summary>The workloads, for the help.</summary>
    public static string Help =>
        "Workloads:\n" + string.Join('\n', WorkloadCatalog.Texts.Select(static w => $"  {w.Name,-14} {w.Text}"));

    public static Argument<string?> Create() => new("WORKLOAD")
    {
        Description = $"A built-in workload; absent with --assembly. {Help}",
        Arity = ArgumentArity.ZeroOrOne,
    };
}
