using System.Text.RegularExpressions;
using Weir.Cli.Kit.Output;
using Weir.Lab.Resources;
using static System.FormattableString;

namespace Weir.Cli.Kit.Pages;

/// <summary>The file that a command writes its page to.</summary>
internal static class PageFile
{
    /// <summary>Makes sure that the page can be written, before minutes of measuring and not after.</summary>
    /// <param name="page">The page; <see langword="null"/> if none was requested.</param>
    public static void Check(FileInfo? page)
    {
        if (page is null)
        {
            return;
        }

        if (Directory.Exists(page.FullName))
        {
            throw new BadInputException($"--output must be a file; {page} is a folder.");
        }

        if (page.Directory is not { Exists: true })
        {
            throw new BadInputException($"--output must be a file in a folder that exists; there is no folder {page.DirectoryName}.");
        }

        ResultOutput.CheckCanWrite(page.FullName);
    }

    /// <summary>What is in the page now: empty when there is none.</summary>
    public static string Read(FileInfo? page) => page is { Exists: true } ? File.ReadAllText(page.FullName) : "";
}

/// <summary>The parts of a page that stand between marks, and are kept when the page is written anew.</summary>
internal static class PageBlocks
{
    /// <summary>What was measured.</summary>
    public const string Measured = "measured";

    /// <summary>What was written by hand.</summary>
    public const string Notes = "notes";

    /// <summary>The texts between marks of a kind, by their keys.</summary>
    public static Dictionary<string, string> Read(string page, string mark) => Regex
        .Matches(page.ReplaceLineEndings("\n"), $@"<!-- {mark} (?<key>\w+) -->\n(?<text>.*?)<!-- /{mark} -->", RegexOptions.Singleline)
        .ToDictionary(static match => match.Groups["key"].Value, static match => match.Groups["text"].Value.Trim('\n'));

    /// <summary>Writes a text between its marks.</summary>
    public static void Append(StringBuilder page, string mark, string key, string text)
    {
        page.Append($"<!-- {mark} {key} -->\n");
        page.Append(text.Length == 0 ? "" : $"{text}\n");
        page.Append($"<!-- /{mark} -->\n");
    }
}

/// <summary>A run that makes a page of results. It reads the machine's noise when it is made, so make it right before the first measurement.</summary>
/// <param name="page">The page's file; <see langword="null"/> for none.</param>
/// <param name="output">Where the text goes as well.</param>
internal sealed class PageRun(FileInfo? page, TextWriter output)
{
    private readonly double _noiseBefore = Surroundings.Noise();

    /// <summary>The page as it is; empty for a new one.</summary>
    public string Existing => PageFile.Read(page);

    /// <summary>Where the figures come from. The machine's noise is read for the second time.</summary>
    public string Provenance(string extent) => Surroundings.Provenance(Surroundings.Commit(), "", _noiseBefore, Surroundings.Noise(), extent);

    /// <summary>Writes the page.</summary>
    public async Task WriteAsync(string text)
    {
        await output.WriteLineAsync(text);
        if (page is not null)
        {
            await File.WriteAllTextAsync(page.FullName, text, CancellationToken.None);
        }
    }
}

/// <summary>Where and at which commit something was measured: without it, numbers cannot be compared.</summary>
internal static class Surroundings
{
    private const string Unknown = "unknown";
    private const int Pieces = 200;

    // It does not change while the process lives, and each section of a page asks.
    private static readonly Lazy<string> TheMachine = new(ReadMachine);

    /// <summary>Processor, cores, system, runtime and garbage collector, and the runtime's settings that change results.</summary>
    public static string Machine() => TheMachine.Value;

    /// <summary>The text about the origin of a page's figures.</summary>
    /// <param name="commit">The commit.</param>
    /// <param name="settings">What else was measured of the machine; empty for nothing.</param>
    /// <param name="noiseBefore">How much the canary varied before, as a share.</param>
    /// <param name="noiseAfter">How much it varied afterwards.</param>
    /// <param name="extent">How much was measured.</param>
    public static string Provenance(string commit, string settings, double noiseBefore, double noiseAfter, string extent)
    {
        string text = Invariant(
            $"Measured at commit {commit}; {Machine()};{(settings.Length == 0 ? "" : $" {settings};")} noise {noiseBefore:P1} before, {noiseAfter:P1} after; ")
                + Invariant($"{extent}.");
        return Math.Max(noiseBefore, noiseAfter) > Canary.QuietVariation ? text + " **The machine was not quiet: repeat this before believing it.**" : text;
    }

    /// <summary>How much the canary varies, as a share of its mean, over about a fifth of a second.</summary>
    public static double Noise() => Canary.Read(Pieces).Variation;

    /// <summary>The commit of the sources, with a word when they were changed since.</summary>
    public static string Commit() =>
        SourceTree.Read(null, ":/src", ":/lab", ":/bench") is { } tree ? Invariant($"{tree.Commit[..10]}{(tree.IsClean ? "" : " with changes")}") : Unknown;

    private static string ReadMachine()
    {
        MachineRecord machine = MachineRecord.Read();
        return string.Join(
            ", ",
            [
                $"{machine.Cores} cores of {machine.Cpu}",
                machine.Os,
                $".NET {machine.Dotnet}",
                $"{machine.Gc} GC",
                .. machine.Variables.Select(static v => $"{v.Key}={v.Value}"),
            ]);
    }
}
