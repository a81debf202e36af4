using System.Runtime;

namespace Weir.Packages.Tests.Support;

/// <summary>A method to be measured. At the end of its process it writes how many methods were compiled there.</summary>
public static class CountedMethod
{
    private static int s_calls;

    static CountedMethod() => AppDomain.CurrentDomain.ProcessExit += static (_, _) =>
    {
        if (Environment.GetEnvironmentVariable(CompiledMethods.Variable) is { } path)
        {
            File.WriteAllText(path, $"{JitInfo.GetCompiledMethodCount()}");
        }
    };

    /// <summary>Does next to nothing.</summary>
    public static int Count() => ++s_calls;
}
