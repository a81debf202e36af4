using System.Text.Json;

namespace Weir.Cli.Workloads.UserCode;

/// <summary>
/// Where the packages of a user's assembly lie that its build did not copy beside it, as that of a library does not: its <c>.deps.json</c> names them, and the
/// folder of the packages has them.
/// </summary>
internal sealed class UserDependencies
{
    private readonly Dictionary<string, string> _assemblies = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, (int Rank, string Path)> _natives = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, string> _packages = new(StringComparer.OrdinalIgnoreCase);

    private UserDependencies()
    {
    }

    /// <summary>Reads what a build has written beside an assembly; empty where it wrote nothing that can be read.</summary>
    public static UserDependencies Of(string assembly)
    {
        UserDependencies found = new();
        string file = Path.ChangeExtension(assembly, ".deps.json");
        if (!File.Exists(file))
        {
            return found;
        }

        try
        {
            using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(file));
            found.Read(document.RootElement, FoldersOf(assembly));
        }
        catch (Exception e) when (e is JsonException or KeyNotFoundException or InvalidOperationException or IOException or UnauthorizedAccessException)
        {
            // Then it is as good as absent; what is missing for that is told by name.
        }

        return found;
    }

    /// <summary>The file of an assembly; <see langword="null"/> when no package that is here has it.</summary>
    public string? PathOf(AssemblyName name) => _assemblies.GetValueOrDefault(KeyOf(name.Name!, name.CultureName));

    /// <summary>The package that has an assembly, with its version, whether it is here or not; <see langword="null"/> when none has it.</summary>
    public string? PackageOf(AssemblyName name) => _packages.GetValueOrDefault(name.Name!);

    /// <summary>The file of a native library for this system; <see langword="null"/> when no package that is here has it.</summary>
    public string? NativePathOf(string name) =>
        Names(name).Select(n => _natives.GetValueOrDefault(n).Path).FirstOrDefault(static p => p is not null);

    private static IEnumerable<string> Names(string name) =>
        OperatingSystem.IsWindows() ? [name, name + ".dll"]
        : OperatingSystem.IsMacOS() ? [name, $"lib{name}.dylib", name + ".dylib", "lib" + name]
        : [name, $"lib{name}.so", name + ".so", "lib" + name];

    private static string KeyOf(string name, string? culture) => string.IsNullOrEmpty(culture) ? name : $"{culture}/{name}";

    // What the build of the project was told, if it is still there, and otherwise what holds on this machine.
    private static List<string> FoldersOf(string assembly)
    {
        List<string> folders = [];
        if (Environment.GetEnvironmentVariable("NUGET_PACKAGES") is { Length: > 0 } given)
        {
            folders.Add(given);
        }

        string name = Path.GetFileNameWithoutExtension(assembly);
        for (string? at = Path.GetDirectoryName(assembly); at is not null; at = Path.GetDirectoryName(at))
        {
            string? restored = new[] { Path.Combine(at, "obj", "project.assets.json"), Path.Combine(at, "obj", name, "project.assets.json") }
                .FirstOrDefault(File.Exists);
            if (restored is not null)
            {
                using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(restored));
                folders.AddRange(document.RootElement.GetProperty("packageFolders").EnumerateObject().Select(static f => f.Name));
                break;
            }
        }

        folders.Add(Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".nuget", "packages"));
        return folders;
    }

    // From what is for exactly this system to what is for all.
    private static string[] Systems()
    {
        string architecture = RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();
        string[] families = OperatingSystem.IsWindows() ? ["win"]
            : OperatingSystem.IsMacOS() ? ["osx", "unix"]
            : RuntimeInformation.RuntimeIdentifier.Contains("musl", StringComparison.Ordinal) ? ["linux-musl", "linux", "unix"]
            : ["linux", "unix"];
        return [RuntimeInformation.RuntimeIdentifier, .. families.SelectMany(f => new[] { $"{f}-{architecture}", f }), "any"];
    }

    private void Read(JsonElement root, List<string> folders)
    {
        string[] systems = Systems();
        JsonElement libraries = root.GetProperty("libraries");
        foreach (JsonProperty library in root.GetProperty("targets").GetProperty(root.GetProperty("runtimeTarget").GetProperty("name").GetString()!)
            .EnumerateObject())
        {
            if (!libraries.TryGetProperty(library.Name, out JsonElement kind) || kind.GetProperty("type").GetString() != "package")
            {
                continue;
            }

            string relative = kind.TryGetProperty("path", out JsonElement path) ? path.GetString()! : library.Name.ToLowerInvariant();
            string? folder = folders.Select(f => Path.Combine(f, relative)).FirstOrDefault(Directory.Exists);
            foreach (JsonProperty asset in Assets(library.Value, "runtime"))
            {
                string name = Path.GetFileNameWithoutExtension(asset.Name);
                _packages.TryAdd(name, library.Name.Replace('/', ' '));
                Add(_assemblies, name, folder, asset.Name);
            }

            foreach (JsonProperty asset in Assets(library.Value, "resources"))
            {
                Add(_assemblies, KeyOf(Path.GetFileNameWithoutExtension(asset.Name), asset.Value.GetProperty("locale").GetString()), folder, asset.Name);
            }

            foreach (JsonProperty asset in Assets(library.Value, "native"))
            {
                AddNative(0, folder, asset.Name);
            }

            foreach ((JsonProperty asset, int rank) in Assets(library.Value, "runtimeTargets")
                .Select(a => (Asset: a, Rank: Array.IndexOf(systems, a.Value.GetProperty("rid").GetString())))
                .Where(static a => a.Rank >= 0)
                .OrderByDescending(static a => a.Rank))
            {
                if (asset.Value.GetProperty("assetType").GetString() == "native")
                {
                    AddNative(rank, folder, asset.Name);
                }
                else
                {
                    // The last is the nearest, and comes before what is for all systems.
                    _assemblies.Remove(Path.GetFileNameWithoutExtension(asset.Name));
                    Add(_assemblies, Path.GetFileNameWithoutExtension(asset.Name), folder, asset.Name);
                }
            }
        }
    }

    private static JsonProperty[] Assets(JsonElement library, string kind) =>
        library.TryGetProperty(kind, out JsonElement assets) ? [.. assets.EnumerateObject()] : [];

    private static void Add(Dictionary<string, string> files, string key, string? folder, string asset)
    {
        if (folder is not null && Path.Combine(folder, asset) is var path && File.Exists(path))
        {
            files.TryAdd(key, path);
        }
    }

    private void AddNative(int rank, string? folder, string asset)
    {
        string name = Path.GetFileName(asset);
        if (folder is not null && Path.Combine(folder, asset) is var path && File.Exists(path)
            && (!_natives.TryGetValue(name, out (int Rank, string Path) other) || rank < other.Rank))
        {
            _natives[name] = (rank, path);
        }
    }
}
