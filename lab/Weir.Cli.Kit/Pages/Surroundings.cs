using Weir.Lab.Resources;
using static System.FormattableString;

namespace Weir.Cli.Kit.Pages;

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
