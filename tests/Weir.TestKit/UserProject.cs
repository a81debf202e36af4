using System.Diagnostics;
using System.Text;
using System.Xml.Linq;

namespace Weir.TestKit;

/// <summary>A project of somebody else, outside of the repository, in a folder with a space in its name. It is deleted at the end.</summary>
public sealed class UserProject : IDisposable
{
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(4);
    private readonly DirectoryInfo _root = Directory.CreateTempSubdirectory("weir user ");

    /// <summary>Writes the files of a project.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="project">What is inside its <c>Project</c>.</param>
    /// <param name="files">Its other files, and those of projects beside it: a path from its folder and a text each.</param>
    public UserProject(string name, string project, params (string Name, string Text)[] files)
    {
        // Where a search for projects ends.
        File.WriteAllText(Path.Combine(_root.FullName, "global.json"), "{}");
        Folder = _root.CreateSubdirectory(name).FullName;
        File.WriteAllText(Path.Combine(Folder, name + ".csproj"), $"<Project Sdk=\"Microsoft.NET.Sdk\">{project}</Project>");
        foreach ((string file, string text) in files)
        {
            string path = Path.GetFullPath(file, Folder);
            Directory.CreateDirectory(Path.GetDirectoryName(path)!);
            File.WriteAllText(path, text);
        }
    }

    /// <summary>The folder of the project.</summary>
    public string Folder { get; }

    /// <summary>The reference to a package that this repository uses too, so that it is on the machine.</summary>
    public static string Package(string name) => new XElement(
        "PackageReference",
        new XAttribute("Include", name),
        new XAttribute("Version", XDocument.Load(Path.Combine(Repository.Root, "Directory.Packages.props")).Descendants("PackageVersion")
            .Single(p => p.Attribute("Include")!.Value == name).Attribute("Version")!.Value)).ToString();

    /// <summary>The reference to an assembly of this repository.</summary>
    public static string Assembly(Type type) => new XElement("Reference", new XAttribute("Include", type.Assembly.Location)).ToString();

    /// <summary>Runs <c>dotnet</c> in the project's folder.</summary>
    /// <returns>The exit code, and what it wrote to both of its outputs.</returns>
    public async Task<(int ExitCode, string Text)> DotNetAsync(params string[] arguments)
    {
        ProcessStartInfo start = new(Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet", arguments)
        {
            WorkingDirectory = Folder, RedirectStandardOutput = true, RedirectStandardError = true,
        };
        foreach (string inherited in start.Environment.Keys.Where(static k => k.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase)).ToArray())
        {
            start.Environment.Remove(inherited);
        }

        // Nothing stays behind that a later build would use again.
        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        start.Environment["DOTNET_NOLOGO"] = "1";

        // A compiler ends before it gets back what a profile of it costs.
        start.Environment["DOTNET_TieredPGO"] = "0";
        StringBuilder text = new();
        using Process process = new() { StartInfo = start };
        process.OutputDataReceived += (_, line) => Add(line.Data);
        process.ErrorDataReceived += (_, line) => Add(line.Data);
        process.Start();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        using CancellationTokenSource limit = new(Longest, TimeProvider.System);
        try
        {
            await process.WaitForExitAsync(limit.Token);
        }
        finally
        {
            if (!process.HasExited)
            {
                process.Kill(entireProcessTree: true);
            }
        }

        return (process.ExitCode, Text());

        void Add(string? line)
        {
            lock (text)
            {
                text.Append(line).Append(line is null ? "" : "\n");
            }
        }

        string Text()
        {
            lock (text)
            {
                return text.ToString();
            }
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _root.Delete(recursive: true);
}
