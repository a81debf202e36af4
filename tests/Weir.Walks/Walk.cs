using System.Diagnostics;
using System.Text;
using System.Text.RegularExpressions;
using Weir.TestKit;

namespace Weir.Walks;

/// <summary>
/// The files that a reader opens to follow one thing through: those with a method that the runtime compiled while it happened, in a Debug build, where nothing is
/// compiled into its caller. In the order in which they were first needed.
/// </summary>
internal static partial class Walk
{
    private static readonly string[] Houses = ["src/", "lab/", "explore/", "bench/"];

    /// <summary>Starts a process that does it, and tells the files, the arrows between them, and the pairs of files that use each other.</summary>
    public static string Through(string name)
    {
        string listing = Path.Combine(Path.GetTempPath(), $"weir-walk-{name}-{Environment.ProcessId}.txt");
        File.Delete(listing);
        string[] command = name == "compare"
            ? [Path.Combine(Repository.Built("Weir.Cli"), "Weir.Cli.dll"), "compare", "noop", "cpu:grain=1us", "--within", "3s"]
            : [Path.Combine(Repository.Built("Weir.Walks"), "Weir.Walks.dll"), "do", name];
        ProcessStartInfo start = new("dotnet", command) { RedirectStandardOutput = true, RedirectStandardError = true };
        start.Environment["DOTNET_JitStdOutFile"] = listing;
        start.Environment["DOTNET_STARTUP_HOOKS"] = typeof(Walk).Assembly.Location;
        start.Environment["DOTNET_JitDisasmSummary"] = "1";
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> errors = process.StandardError.ReadToEndAsync();
        process.WaitForExit();
        if (process.ExitCode is not (0 or 2))
        {
            throw new InvalidOperationException($"{string.Join(' ', command)} ended with {process.ExitCode}: {output.Result}{errors.Result}");
        }

        List<string> methods =
            [.. File.ReadLines(listing).Select(static line => Compiled().Match(line)).Where(static m => m.Success).Select(static m => MethodOf(m.Groups[1].Value))];
        File.Delete(listing);
        return Text(name, methods);
    }

    /// <summary>The files of a project that use each other in a circle, of whatever length.</summary>
    public static string CirclesOf(string project)
    {
        using AssemblyUses compiled = new(Path.Combine(Repository.Built(project), project + ".dll"));
        (string From, string To, string Type)[] uses = [.. UsesOf(compiled)];
        List<string[]> circles = Circles.Of(uses.Select(static use => (use.From, use.To)));
        StringBuilder text = new();
        text.AppendLine($"{project}: {circles.Count} circles of files");
        foreach (string[] circle in circles)
        {
            text.AppendLine($"  {circle.Length} files");
            foreach (string file in circle)
            {
                IEnumerable<string> targets = uses.Where(use => use.From == file && circle.Contains(use.To)).Select(static use => $"{use.Type} ({Path.GetFileName(use.To)})");
                text.AppendLine($"    {file} -> {string.Join(", ", targets.Distinct())}");
            }
        }

        return text.ToString();
    }

    private static string Text(string name, List<string> methods)
    {
        Dictionary<string, string> files = [];
        Dictionary<string, string> types = [];
        List<(string From, string To)> uses = [];
        List<(string From, string Type)> outside = [];
        foreach (string assembly in Directory.EnumerateFiles(Repository.Built(name == "compare" ? "Weir.Cli" : "Weir.Walks"), "Weir*.dll")
            .Where(static dll => File.Exists(Path.ChangeExtension(dll, ".pdb"))))
        {
            using AssemblyUses compiled = new(assembly);
            Add(compiled.Methods(), files);
            Add(compiled.Types(), types);
            uses.AddRange(UsesOf(compiled).Select(static use => (use.From, use.To)));
            outside.AddRange(compiled.Outside().Select(static use => (InHouse(use.User)!, use.Type)).Where(static use => use.Item1 is not null));
        }

        uses.AddRange(outside.Where(use => types.ContainsKey(use.Type)).Select(use => (use.From, types[use.Type])));
        List<string> opened = [.. methods.Select(m => files.GetValueOrDefault(m)).OfType<string>().Distinct()];
        HashSet<(string, string)> arrows = [.. uses.Where(use => opened.Contains(use.From) && opened.Contains(use.To))];
        int both = arrows.Count(arrow => arrows.Contains((arrow.Item2, arrow.Item1))) / 2;
        StringBuilder text = new();
        text.AppendLine($"{name}: {opened.Count} files, {arrows.Count} arrows, {both} pairs that point both ways");
        text.AppendLine("  " + string.Join(", ", opened.GroupBy(static file => file.Split('/')[1]).Select(static project => $"{project.Key} {project.Count()}")));
        foreach (string file in opened)
        {
            text.AppendLine("  " + file);
        }

        return text.ToString();
    }

    private static IEnumerable<(string From, string To, string Type)> UsesOf(AssemblyUses compiled) => compiled.All()
        .Select(static use => (From: InHouse(use.User)!, To: InHouse(use.Used)!, use.Type))
        .Where(static use => use.From is not null && use.To is not null);

    private static void Add(IEnumerable<(string Name, string Document)> found, Dictionary<string, string> files)
    {
        foreach ((string name, string document) in found)
        {
            if (InHouse(document) is { } file)
            {
                files.TryAdd(name, file);
            }
        }
    }

    // Types and methods without what they are made of: Weir.Core.Dispatch.Pump`1[int]:Method[long](int):this is Weir.Core.Dispatch.Pump`1:Method.
    private static string MethodOf(string signature)
    {
        int end = signature.IndexOf('(', StringComparison.Ordinal);
        string name = end < 0 ? signature : signature[..end];
        StringBuilder bare = new();
        int depth = 0;
        foreach (char c in name)
        {
            depth += c == '[' ? 1 : 0;
            if (depth == 0)
            {
                bare.Append(c);
            }

            depth -= c == ']' ? 1 : 0;
        }

        return bare.ToString();
    }

    private static string? InHouse(string? document)
    {
        string? path = document?.Replace('\\', '/');
        return path is null || path.Contains("/obj/", StringComparison.Ordinal)
            ? null
            : Houses.Select(house => (house, At: path.IndexOf("/" + house + "Weir", StringComparison.Ordinal))).Where(static h => h.At >= 0)
                .Select(h => path[(h.At + 1)..]).FirstOrDefault();
    }

    [GeneratedRegex(@"^\s*[0-9]+: JIT compiled (.*) \[[^\[\]]*IL size=")]
    private static partial Regex Compiled();
}
