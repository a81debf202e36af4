namespace Weir.Cli.Tests.Support;

/// <summary>A file that is gone after the test.</summary>
internal sealed class TemporaryFile : IDisposable
{
    public TemporaryFile(string content, string extension = "")
    {
        Path = System.IO.Path.Combine(System.IO.Path.GetTempPath(), System.IO.Path.GetRandomFileName() + extension);
        File.WriteAllText(Path, content);
    }

    public string Path { get; }

    public void Dispose() => File.Delete(Path);
}
