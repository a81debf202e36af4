using System.Globalization;

namespace Weir.Packages.Tests.Support;

/// <summary>How many methods a process compiled, which it writes to a file when it ends.</summary>
internal static class CompiledMethods
{
    /// <summary>The environment variable with the path of the file.</summary>
    public const string Variable = "WEIR_COMPILED";

    /// <summary>Counts those of a process, in which nothing is compiled a second time because it runs often.</summary>
    /// <param name="folder">Where the file may lie.</param>
    /// <param name="settings">The environment of the process.</param>
    /// <param name="run">Runs it to its end, in an environment.</param>
    public static async Task<int> CountAsync(
        string folder, IReadOnlyDictionary<string, string> settings, Func<IReadOnlyDictionary<string, string>, Task> run)
    {
        string file = Path.Combine(folder, "compiled.txt");
        await run(new Dictionary<string, string>(settings) { [Variable] = file, ["DOTNET_TC_CallCounting"] = "0" });
        return int.Parse(File.ReadAllText(file), CultureInfo.InvariantCulture);
    }
}
