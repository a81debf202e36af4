using Weir.Lab.Processes;

namespace Weir.Cli.Commands.New;

/// <summary>The <c>new</c> command: writes the files of a new project that measures your own code.</summary>
internal static class NewCommand
{
    private const string DefaultDirectory = "MyWorkloads";

    // They are in docs/samples, where you can read and copy them too.
    private const string Samples = "samples/";

    private static readonly string OwnLab = BesideProgram.FileOf(typeof(IWorkload).Assembly);
    private static readonly string Lab = "lib/" + Path.GetFileName(OwnLab);

    public static Command Create(WeirHost host) => new("new", "Writes a project to begin with.") { Workload(host) };

    private static Command Workload(WeirHost host)
    {
        Argument<string> directory = new("DIR")
        {
            Description = $"The directory of the project, which also names it. Default {DefaultDirectory}", DefaultValueFactory = static _ => DefaultDirectory,
        };
        Command command =
            new("workload", "Writes a project with code to measure: a class with methods, and a workload with set-up, parameter and check.") { directory };
        command.SetAction((parsed, _) =>
        {
            string path = Path.GetFullPath(parsed.GetRequiredValue(directory));
            string name = NameOf(path);
            if (Directory.Exists(path) && Directory.EnumerateFileSystemEntries(path).Any())
            {
                throw new BadInputException($"DIR must be a directory that does not exist or is empty; '{parsed.GetRequiredValue(directory)}' has files.");
            }

            foreach ((string file, string text) in Files(name))
            {
                Write(Path.Combine(path, file), p => File.WriteAllText(p, text));
                host.Error.WriteLine($"wrote {Path.Combine(parsed.GetRequiredValue(directory), file)}");
            }

            // A copy within the project: a path of this machine would mean nothing on another one.
            Write(Path.Combine(path, Lab), static p => File.Copy(OwnLab, p));
            host.Error.WriteLine($"wrote {Path.Combine(parsed.GetRequiredValue(directory), Lab)}");

            string assembly = Path.Combine(parsed.GetRequiredValue(directory), "bin", "Release", $"net{Environment.Version.Major}.0", name + ".dll");
            host.Out.WriteLine($"""
                Build it, and measure it:
                  dotnet build -c Release {parsed.GetRequiredValue(directory)}
                  weir run --assembly {assembly} --class Summing --param size=10,1000
                  weir compare --assembly {assembly} --method Joining.Plus,Joining.Builder --param count=4,64
                """);
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    /// <summary>The files of a project.</summary>
    internal static IEnumerable<(string File, string Text)> Files(string name) =>
    [
        ($"{name}.csproj", $"""
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup>
                <TargetFramework>net{Environment.Version.Major}.0</TargetFramework>
                <Nullable>enable</Nullable>
                <ImplicitUsings>enable</ImplicitUsings>
              </PropertyGroup>
              <ItemGroup>
                <!-- For classes that implement IWorkload. weir brings its own, so it need not lie beside the code. -->
                <Reference Include="{typeof(IWorkload).Assembly.GetName().Name}" HintPath="{Lab}" Private="false" />
              </ItemGroup>
              <!-- The code that you measure:
              <ItemGroup>
                <ProjectReference Include="../MyLibrary/MyLibrary.csproj" />
              </ItemGroup>
              -->
            </Project>

            """),
        .. typeof(NewCommand).Assembly.GetManifestResourceNames()
            .Where(static n => n.StartsWith(Samples, StringComparison.Ordinal))
            .Order(StringComparer.Ordinal)
            .Select(static n => (n[Samples.Length..], TextOf(n))),
    ];

    private static string TextOf(string resource)
    {
        using StreamReader reader = new(typeof(NewCommand).Assembly.GetManifestResourceStream(resource)!);
        return reader.ReadToEnd();
    }

    private static string NameOf(string path)
    {
        string name = Path.GetFileName(Path.TrimEndingDirectorySeparator(path));
        return name.Length > 0 && name.All(static c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '-')
            ? name
            : throw new BadInputException(
                $"DIR must be called with letters, digits, '.', '_' and '-', because the project is called after it; it is '{name}'.");
    }

    private static void Write(string path, Action<string> write)
    {
        try
        {
            Directory.CreateDirectory(Path.GetDirectoryName(path)!);
            write(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new BadInputException($"'{path}' cannot be written: {e.Message}");
        }
    }
}
