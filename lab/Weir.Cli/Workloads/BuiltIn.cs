using Weir.Cli.Options;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>A workload that is built in.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Text">What an operation of it does.</param>
/// <param name="Create">Makes it.</param>
/// <param name="Grain">The grain that it has when none is given; <see langword="null"/> for one that has none.</param>
/// <param name="Parameter">What else can be set of it; <see langword="null"/> for nothing.</param>
internal sealed record BuiltIn(string Name, string Text, Func<WorkloadSpec, IWorkload> Create, TimeSpan? Grain = null, BuiltInParameter? Parameter = null)
{
    /// <summary>The names of its parameters.</summary>
    public IReadOnlyList<string> Parameters => [.. Grain is null ? Array.Empty<string>() : ["grain"], .. Parameter is null ? Array.Empty<string>() : [Parameter.Name], "gc"];
}

/// <summary>A whole number that can be set of a workload.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Default">What it is when it is not set.</param>
/// <param name="Read">Reads it.</param>
internal sealed record BuiltInParameter(string Name, int Default, Func<OptionValue, int> Read);
