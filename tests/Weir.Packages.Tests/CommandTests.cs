using System.IO.Compression;
using System.Reflection.PortableExecutable;
using System.Runtime.InteropServices;
using System.Text.Json;
using System.Xml.Linq;
using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>The command <c>weir</c>, installed from its package: its machine code is found, and is used by the processes that measure.</summary>
public class CommandTests(Feed feed)
{
    private const string Folder = "tools/net10.0/any/";

    // Between what a measuring process compiles with machine code, about 1,340 methods, and of IL alone, about 2,340.
    private const int MostCompiled = 1_800;

    private static string[] Ahead { get; } =
        XDocument.Load(Path.Combine(Repository.Root, "lab", "Weir.Cli", "Weir.Cli.csproj")).Descendants("AheadAssemblies").Single().Value.Split(';');

    [Fact]
    public void Command_ForEachSystem_HasMachineCodeOfItsOwnAssemblies_AndNamesIt()
    {
        using ZipArchive archive = feed.Open("Weir.Cli", "nupkg");
        using JsonDocument deps = JsonDocument.Parse(PackedFile.Bytes(archive, Folder + "Weir.Cli.deps.json"));
        JsonElement[] libraries = [.. deps.RootElement.GetProperty("targets").EnumerateObject().Single().Value.EnumerateObject().Select(static l => l.Value)];
        string[] named =
        [
            .. libraries.Where(static l => l.TryGetProperty("runtimeTargets", out _))
                .SelectMany(static l => l.GetProperty("runtimeTargets").EnumerateObject())
                .Where(static f => Feed.Ahead.Contains(f.Value.GetProperty("rid").GetString())).Select(static f => f.Name),
        ];
        string[] expected = [.. Ahead.SelectMany(static name => Feed.Ahead.Select(system => $"runtimes/{system}/lib/net10.0/{name}.dll"))];
        Assert.Equal(expected.Order(StringComparer.Ordinal), named.Order(StringComparer.Ordinal));
        string[] packed =
        [
            .. archive.Entries.Select(static e => e.FullName)
                .Where(static n => n.StartsWith(Folder + "runtimes/", StringComparison.Ordinal) && n.Contains("/lib/net10.0/", StringComparison.Ordinal)),
        ];
        Assert.Equal(expected.Select(static name => Folder + name).Order(StringComparer.Ordinal), packed.Order(StringComparer.Ordinal));
        Assert.All(expected, name =>
        {
            using PEReader image = PackedFile.Assembly(archive, Folder + name);
            using PEReader plain = PackedFile.Assembly(archive, Folder + Path.GetFileName(name));
            Assert.True(PackedFile.HasMachineCode(image));
            Assert.False(PackedFile.HasMachineCode(plain));
        });
    }

    [Fact(Timeout = 300_000)]
    public async Task Command_Installed_MeasuresWithItsMachineCode()
    {
        string folder = feed.NewFolder("command", alone: true);
        string weir = await feed.InstallWeirAsync(folder);
        int ahead = await CompiledAsync(folder, weir);
        string own = Path.Combine("runtimes", RuntimeInformation.RuntimeIdentifier, "lib", "net10.0");
        string images = Directory.GetDirectories(folder, "net10.0", SearchOption.AllDirectories).Single(d => d.EndsWith(own, StringComparison.Ordinal));
        foreach (string image in Directory.GetFiles(images))
        {
            File.Copy(Path.Combine(images[..^own.Length], Path.GetFileName(image)), image, overwrite: true);
        }

        int plain = await CompiledAsync(folder, weir);
        TestContext.Current.TestOutputHelper?.WriteLine($"{ahead} methods were compiled in the measuring process; of IL alone, {plain}.");
        Assert.True(ahead < MostCompiled && plain > MostCompiled, $"{ahead} methods, and {plain} of IL alone.");
    }

    private Task<int> CompiledAsync(string folder, string weir)
    {
        string[] run =
        [
            "run", "--assembly", typeof(CountedMethod).Assembly.Location, "--method", $"{nameof(CountedMethod)}.{nameof(CountedMethod.Count)}",
            "--workers", "1", "--rounds", "1", "--duration", "20ms", "--quiet", "--json",
        ];

        // Whether a busy machine is fit to measure on is not asked here: 0 and 3 both are answers.
        return CompiledMethods.CountAsync(folder, feed.Settings, settings => Program.RunAsync(folder, settings, weir, run, 0, 3));
    }
}
