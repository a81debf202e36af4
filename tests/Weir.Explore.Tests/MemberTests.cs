using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Weir.Explore.Rewriting;
using OpCodes = Mono.Cecil.Cil.OpCodes;

namespace Weir.Explore.Tests;

/// <summary>
/// Of each type that the model stands in for, a program calls each member, and is rewritten. Each call is then one of the model, a point, known to be harmless,
/// or refused with a sentence that names it; and there is none that the platform does not find.
/// </summary>
public sealed class MemberTests(ITestOutputHelper output) : IDisposable
{
    private const BindingFlags All =
        BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    private readonly string _folder = Directory.CreateTempSubdirectory("weir-members-").FullName;

    [Fact]
    public void EachMember_OfATypeThatIsStoodInFor_IsModelledHarmlessOrRefusedByName()
    {
        Type[] types = [.. ReplacementTable.OfModel.Types.Distinct().Select(
            static t => Type.GetType(t) ?? Type.GetType($"{t}, System.Collections.Concurrent", throwOnError: true)!)];
        Assert.True(types.Length > 25, $"{types.Length} types");
        Dictionary<string, MethodBase> members = [];
        string path = Path.Combine(_folder, "Members.dll");
        WriteCalls(path, types, members);
        string rewritten = Path.Combine(_folder, "Rewritten.dll");
        AssemblyRewriter.Rewrite(path, rewritten, static _ => false, storeBuffers: false, meantRaces: null, conflicts: false);

        Dictionary<string, List<string>> verdicts = [];
        AssemblyLoadContext context = new("members", isCollectible: true);
        Type calls = context.LoadFromAssemblyPath(rewritten).GetType("Calls", throwOnError: true)!;
        using ModuleDefinition module = ModuleDefinition.ReadModule(rewritten);
        foreach (MethodDefinition method in module.GetType("Calls").Methods)
        {
            MethodBase member = members[method.Name];
            string name = $"{member.DeclaringType!.FullName}.{member.Name}";
            string verdict = Verdict(method, name);
            if (method.Name.StartsWith("Group", StringComparison.Ordinal))
            {
                // What a call of it is: one that is modelled is modelled, or refused where its object is a structure, which a delegate has as a copy.
                string ofCall = Verdict(module.GetType("Calls").Methods.Single(m => m.Name == "Call" + method.Name[5..]), name);
                Assert.True(
                    verdict == ofCall || (ofCall == "modelled" && (verdict == "refused" ? member.DeclaringType.IsValueType : OfModel(member))) ||
                    (ofCall == "a point" && verdict == "left as it is") || member.DeclaringType.Name.Contains("MethodBuilder", StringComparison.Ordinal),
                    $"A delegate of {name} is {verdict}, and a call of it is {ofCall}.");
            }
            else
            {
                CollectionsOf(verdicts, verdict).Add(Text(member));
            }

            try
            {
                // Compiles it, for which each method that it calls has to be there.
                RuntimeHelpers.PrepareMethod(calls.GetMethod(method.Name)!.MethodHandle);
            }
            catch (Exception error) when (error is MissingMethodException or TypeLoadException or InvalidProgramException)
            {
                Assert.Fail($"{name} is {verdict}, and the platform says {error.GetType().Name}: {error.Message}");
            }
        }

        context.Unload();
        foreach ((string verdict, List<string> texts) in verdicts.OrderBy(static v => v.Key, StringComparer.Ordinal))
        {
            output.WriteLine($"{verdict}: {texts.Count}\n  {string.Join("\n  ", texts)}");
        }

        Assert.Empty(verdicts.Keys.Except(["modelled", "a point", "left as it is", "refused"]));
        Assert.DoesNotContain(
            verdicts["left as it is"],
            static t => Words(t).Overlaps(["Wait", "Join", "Start", "Run", "Cancel", "Enter", "Continue", "When", "Delay", "Sleep", "Queue"]) &&
                !t.EndsWith("TaskScheduler)", StringComparison.Ordinal) && !t.Contains("TimeProvider", StringComparison.Ordinal) &&
                !IsOfOneThread(t));
        Assert.All(
            ["Task.WaitAll(ReadOnlySpan`1)", "Task.WhenEach(IEnumerable`1)", "TaskExtensions.Unwrap(Task`1)", "Task.Wait(TimeSpan,CancellationToken)",
                "Task`1.ContinueWith(Func`3,Object)", "PeriodicTimer.WaitForNextTickAsync(CancellationToken)", "AutoResetEvent..ctor(Boolean)"],
            t => Assert.Contains(t, verdicts["modelled"]));
        Assert.All(
            ["Task.ContinueWhenAll", "SemaphoreSlim.get_AvailableWaitHandle", "CancellationToken.get_WaitHandle", "Thread.GetDomainID", "Timer.get_ActiveCount"],
            t => Assert.Contains(verdicts["refused"], r => r.Contains(t.Replace("Task.Cont", "TaskFactory.Cont", StringComparison.Ordinal), StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("System.Threading.SemaphoreSlim.get_AvailableWaitHandle", 0)]
    [InlineData("System.Threading.CancellationToken.get_WaitHandle", 1)]
    [InlineData("System.Threading.Timer.get_ActiveCount", 2)]
    [InlineData("System.Threading.ThreadPool.get_PendingWorkItemCount", 3)]
    [InlineData("System.Threading.Thread.GetDomainID", 4)]
    [InlineData("System.Threading.Mutex..ctor", 5)]
    [InlineData("System.Threading.Tasks.TaskFactory.ContinueWhenAny", 6)]
    [InlineData("System.Threading.Tasks.TaskAsyncEnumerableExtensions.ToBlockingEnumerable", 7)]
    [InlineData("System.Progress`1..ctor", 8)]
    [InlineData("System.Collections.Immutable.ImmutableInterlocked.Update", 9)]
    public void Call_ThatIsRefused_IsNamedWithItsLine(string name, int number)
    {
        ExploreFailure failure = Explore.Search(async () => await RefusedAsync(number)).Failure!;
        Assert.Equal(FailureKind.Exception, failure.Kind);
        Assert.Contains($"The explorer has no model of {name}:", failure.Message, StringComparison.Ordinal);
        Assert.Contains("MemberTests.cs:", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Class_DerivedFromWhatIsStoodInFor_IsRefusedByName()
    {
        ExploreFailure failure = Explore.Search(static async () =>
        {
            await Task.Yield();
            using Gate gate = new();
            gate.Wait();
        }).Failure!;
        Assert.Equal(FailureKind.Exception, failure.Kind);
        Assert.Contains("no model of a class that is derived from System.Threading.SemaphoreSlim:", failure.Message, StringComparison.Ordinal);
        Assert.Contains($"the constructor of {nameof(Weir)}.{nameof(Explore)}.Tests.MemberTests/Gate", failure.Message, StringComparison.Ordinal);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private sealed class Gate() : SemaphoreSlim(1)
    {
        private bool _isDisposed;

        protected override void Dispose(bool disposing)
        {
            _isDisposed |= disposing;
            base.Dispose(disposing);
            Assert.True(_isDisposed);
        }
    }

    private static async Task RefusedAsync(int number)
    {
        await Task.Yield();
        _ = number switch
        {
            0 => new SemaphoreSlim(1).AvailableWaitHandle,
            1 => new CancellationToken(true).WaitHandle,
            2 => Timer.ActiveCount,
            3 => ThreadPool.PendingWorkItemCount,
            4 => Thread.GetDomainID(),
            5 => new Mutex(),
            6 => Task.Factory.ContinueWhenAny([Task.CompletedTask], static _ => { }),
            7 => Items().ToBlockingEnumerable(),
            8 => new Progress<int>(),
            _ => (object)Updated(),
        };

        static bool Updated()
        {
            string text = "";
            return System.Collections.Immutable.ImmutableInterlocked.Update(ref text, static t => t + 'a');
        }

        static async IAsyncEnumerable<int> Items()
        {
            await Task.Yield();
            yield return 1;
        }
    }

    private static void WriteCalls(string path, Type[] types, Dictionary<string, MethodBase> members)
    {
        using ModuleDefinition module = ModuleDefinition.CreateModule("Members", ModuleKind.Dll);
        TypeDefinition calls = new("", "Calls", Mono.Cecil.TypeAttributes.Public, module.TypeSystem.Object);
        module.Types.Add(calls);
        foreach (MethodBase member in types.Select(Closed).SelectMany(Members))
        {
            MethodDefinition method = new(
                $"Call{calls.Methods.Count}", Mono.Cecil.MethodAttributes.Public | Mono.Cecil.MethodAttributes.Static, module.TypeSystem.Void);
            members.Add(method.Name, member);
            calls.Methods.Add(method);
            ILProcessor il = method.Body.GetILProcessor();
            bool isNew = member.IsConstructor;
            if (!member.IsStatic && !isNew)
            {
                Push(il, member.DeclaringType!.IsValueType ? member.DeclaringType.MakeByRefType() : member.DeclaringType, module);
            }

            Array.ForEach(member.GetParameters(), p => Push(il, p.ParameterType, module));
            il.Emit(isNew ? OpCodes.Newobj : member.IsStatic || member.DeclaringType!.IsValueType ? OpCodes.Call : OpCodes.Callvirt, module.ImportReference(member));
            if (isNew || member is MethodInfo { ReturnType: var type } && type != typeof(void))
            {
                il.Emit(OpCodes.Pop);
            }

            il.Emit(OpCodes.Ret);
            if (!isNew)
            {
                AddGroup(calls, member, module, members);
            }
        }

        module.Write(path);
    }

    /// <summary>A method that takes the address of the member, as for a delegate.</summary>
    private static void AddGroup(TypeDefinition calls, MethodBase member, ModuleDefinition module, Dictionary<string, MethodBase> members)
    {
        MethodDefinition method = new(
            $"Group{calls.Methods[^1].Name[4..]}", Mono.Cecil.MethodAttributes.Public | Mono.Cecil.MethodAttributes.Static, module.TypeSystem.Void);
        members.Add(method.Name, member);
        calls.Methods.Add(method);
        ILProcessor il = method.Body.GetILProcessor();
        if (member.IsVirtual)
        {
            il.Emit(OpCodes.Ldnull);
        }

        il.Emit(member.IsVirtual ? OpCodes.Ldvirtftn : OpCodes.Ldftn, module.ImportReference(member));
        il.Emit(OpCodes.Pop);
        il.Emit(OpCodes.Ret);
    }

    private static bool OfModel(MethodBase member) => ReplacementTable.OfModel.TypeFor(member.DeclaringType!.FullName!.Split('[')[0]) is not null;

    private static void Push(ILProcessor il, Type type, ModuleDefinition module)
    {
        VariableDefinition local = new(module.ImportReference(type.IsByRef ? type.GetElementType()! : type));
        il.Body.Variables.Add(local);
        il.Body.InitLocals = true;
        il.Emit(type.IsByRef ? OpCodes.Ldloca : OpCodes.Ldloc, local);
    }

    /// <summary>The members that code outside of the platform can call: public ones, and those for classes that are derived.</summary>
    private static IEnumerable<MethodBase> Members(Type type) => type.GetMembers(All).OfType<MethodBase>()
        .Where(m => (m.IsPublic || (m.IsFamily && !m.IsConstructor)) && !(m.IsConstructor && (m.IsStatic || type.IsAbstract)))
        .Select(static m => m is MethodInfo { IsGenericMethodDefinition: true } generic
            ? generic.MakeGenericMethod([.. generic.GetGenericArguments().Select(Argument)])
            : m)

        // A compiler calls what is overridden where it is declared first.
        .Where(static m => m is not MethodInfo method || method.GetBaseDefinition().DeclaringType == method.DeclaringType);

    private static Type Closed(Type type) =>
        type.IsGenericTypeDefinition ? type.MakeGenericType([.. type.GetGenericArguments().Select(static _ => typeof(object))]) : type;

    private static Type Argument(Type parameter) =>
        Array.Exists(parameter.GetGenericParameterConstraints(), static c => c == typeof(IAsyncStateMachine)) ? typeof(IAsyncStateMachine)
        : Array.Exists(parameter.GetGenericParameterConstraints(), static c => c == typeof(ICriticalNotifyCompletion)) ? typeof(ICriticalNotifyCompletion)
        : Array.Exists(parameter.GetGenericParameterConstraints(), static c => c == typeof(INotifyCompletion)) ? typeof(INotifyCompletion)
        : typeof(object);

    private static string Verdict(MethodDefinition method, string name)
    {
        MethodReference[] called = [.. method.Body.Instructions.Select(static i => i.Operand).OfType<MethodReference>()];
        return called.Any(static c => c.Name == nameof(Model.Points.Refuse))
            ? method.Body.Instructions.Any(i => i.Operand is string text && text == Plain(name)) ? "refused" : "refused without its name"
            : called.Any(static c => c.DeclaringType.GetElementType().FullName.StartsWith("Weir.Explore.Model.", StringComparison.Ordinal) &&
                c.DeclaringType.Name is not (nameof(Model.Points) or nameof(Model.Effects))) ? "modelled"
            : called.Any(static c => c.DeclaringType.Name == nameof(Model.Points) && c.Name is not nameof(Model.Points.Site)) ? "a point"
            : called.Length == 1 ? "left as it is"
            : $"changed to {string.Join(", ", called.Select(static c => c.FullName))}";
    }

    /// <summary>Values, and what the compiler calls for one async method.</summary>
    private static bool IsOfOneThread(string text) => text.Split('.')[0].Split('`')[0] is
        "DateTime" or "DateTimeOffset" or "Random" or "Environment" or "AppDomain" or "Stopwatch" or "AsyncTaskMethodBuilder" or "AsyncVoidMethodBuilder";

    private static string Plain(string name) => System.Text.RegularExpressions.Regex.Replace(name, @"\[.*\]", "");

    private static string Text(MethodBase member) =>
        $"{member.DeclaringType!.Name}.{member.Name}({string.Join(',', member.GetParameters().Select(static p => p.ParameterType.Name))})";

    private static HashSet<string> Words(string text) =>
        [.. System.Text.RegularExpressions.Regex.Matches(text.Split('(')[0].Split('.')[^1], "[A-Z][a-z]*").Select(static m => m.Value)];

    private static List<string> CollectionsOf(Dictionary<string, List<string>> lists, string key)
    {
        if (!lists.TryGetValue(key, out List<string>? list))
        {
            lists.Add(key, list = []);
        }

        return list;
    }
}
