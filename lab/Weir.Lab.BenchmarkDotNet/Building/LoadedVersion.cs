namespace Weir.Lab.Benchmarks.Building;

/// <summary>Which version of BenchmarkDotNet is loaded. Its engines, which the lab replaces, change with each minor version.</summary>
internal static class LoadedVersion
{
    /// <exception cref="NotSupportedException">It is not one that the lab was made for.</exception>
    public static void ThrowIfOther()
    {
        Version built = typeof(LoadedVersion).Assembly.GetReferencedAssemblies().First(static a => a.Name == nameof(BenchmarkDotNet)).Version!;
        if (Problem(built, typeof(IConfig).Assembly.GetName().Version!) is string problem)
        {
            throw new NotSupportedException(problem);
        }
    }

    /// <summary>What is wrong with a version; <see langword="null"/> when nothing is.</summary>
    internal static string? Problem(Version built, Version loaded) => loaded.Major == built.Major && loaded.Minor == built.Minor && loaded.Build >= built.Build
        ? null
        : $"Weir.Lab.BenchmarkDotNet needs BenchmarkDotNet {built.ToString(3)} or a later {built.ToString(2)}, and {loaded.ToString(3)} is loaded: "
            + $"reference version {built.ToString(3)}.";
}
